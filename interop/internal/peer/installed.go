package peer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skeinstream/skein/interop/internal/cache"
	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/proc"
	"github.com/skeinstream/skein/interop/python"
)

// javaVersions: the last eager-only client, the last 2.x with the old default
// assignor, the last 3.x, the newest.
var javaVersions = []string{"2.3.1", "2.8.2", "3.9.1", "4.4.0"}

func javaClients() []Client {
	var all []Client
	for _, version := range javaVersions {
		all = append(all, Client{
			Name: "java " + version,
			Fast: version == "4.4.0",
			open: func(ctx context.Context, dir string) (Conn, error) { return openJava(ctx, dir, version) },
		})
	}
	return all
}

func openJava(ctx context.Context, dir, version string) (Conn, error) {
	cmd, err := Java(ctx, version, "Main", nil)
	if err != nil {
		return nil, err
	}
	return startProgram("java "+version, dir, cmd)
}

// Java is a program under clients/java, compiled against a release of the Java
// client and ready to be started; flags are those of the Java machine.
func Java(ctx context.Context, version, class string, flags []string, args ...string) (*exec.Cmd, error) {
	source, err := clientFile("java", class+".java")
	if err != nil {
		return nil, err
	}
	pom, err := os.ReadFile(filepath.Join(filepath.Dir(source), "pom.xml"))
	if err != nil {
		return nil, err
	}
	libraries, err := maven.Libraries(ctx, "java-client", pom, version)
	if err != nil {
		return nil, err
	}
	classPath, err := maven.Compile(ctx, "java-"+strings.ToLower(class)+"-"+version, source, libraries)
	if err != nil {
		return nil, err
	}
	all := slices.Concat([]string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:-UsePerfData"}, flags, []string{"-cp", classPath, class}, args)
	return exec.Command("java", all...), nil
}

func pythonClients() []Client {
	client := func(name, program string, fast bool) Client {
		return Client{Name: name, Fast: fast, open: func(ctx context.Context, dir string) (Conn, error) {
			return openPython(ctx, dir, name, program)
		}}
	}
	return []Client{
		client("confluent-kafka 2.16.1", "confluent.py", false),
		client("kafka-python 3.0.12", "kafkapython.py", false),
		client("aiokafka 0.14.0", "aio.py", false),
	}
}

func openPython(ctx context.Context, dir, name, program string) (Conn, error) {
	cmd, err := Python(ctx, program)
	if err != nil {
		return nil, err
	}
	return startProgram(name, dir, cmd)
}

// Python is a program under clients/python, ready to be started with the
// Python clients installed.
func Python(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	programs, err := python.Programs()
	if err != nil {
		return nil, err
	}
	interpreter, err := python.Interpreter(ctx)
	if err != nil {
		return nil, err
	}
	all := append([]string{"-B", filepath.Join(programs, program)}, args...)
	return exec.Command(interpreter, all...), nil
}

func nodeClients() []Client {
	return []Client{
		{
			Name: "kafkajs 2.2.4", NeedsGroup: true, WritesLinked: true,
			open: func(ctx context.Context, dir string) (Conn, error) {
				return openNode(ctx, dir, "kafkajs 2.2.4", "kafkajs.js")
			},
		},
		{
			Name: "@platformatic/kafka 1.35.0",
			open: func(ctx context.Context, dir string) (Conn, error) {
				open := func() (Conn, error) { return openNode(ctx, dir, "@platformatic/kafka 1.35.0", "platformatic.js") }
				first, err := open()
				if err != nil {
					return nil, err
				}
				return &renewed{open: open, conn: first}, nil
			},
		},
	}
}

func openNode(ctx context.Context, dir, name, program string) (Conn, error) {
	cmd, err := Node(ctx, program)
	if err != nil {
		return nil, err
	}
	return startProgram(name, dir, cmd)
}

// Node is a program under clients/node, ready to be started with the clients
// for Node installed.
func Node(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	lockFile, err := clientFile("node", "package-lock.json")
	if err != nil {
		return nil, err
	}
	source := filepath.Dir(lockFile)
	pins, err := os.ReadFile(lockFile)
	if err != nil {
		return nil, err
	}
	installed, err := cache.Entry(ctx, "node", pins, func(ctx context.Context, dir string) error {
		for _, name := range []string{"package.json", "package-lock.json"} {
			text, err := os.ReadFile(filepath.Join(source, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				return err
			}
		}
		cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
		cmd.Dir = dir
		_, err := proc.Output(cmd)
		return err
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("node", append([]string{filepath.Join(source, program)}, args...)...)
	cmd.Env = append(os.Environ(), "SKEIN_INTEROP_NODE="+installed)
	return cmd, nil
}

// clientFile is a file under clients/.
func clientFile(language, name string) (string, error) {
	dir, err := root.Interop()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "clients", language, name), nil
}
