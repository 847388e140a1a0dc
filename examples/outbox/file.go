package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// file is an outbox whose rows are lines, and whose positions are bytes. In a database it is a table. Take care there that positions are in the order
// in which rows become visible: numbers of a sequence are not, since a transaction that has drawn a lower one may commit later.
type file string

// after returns whole rows from a position on, n at the most if that is not less than 0, and the position behind them. A row whose end is not
// written yet is none.
func (f file) after(position int64, n int) (rows [][]byte, next int64, err error) {
	in, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) { // nothing was written yet
		return nil, position, nil
	}
	if err != nil {
		return nil, position, err
	}
	defer in.Close()
	rest, err := io.ReadAll(io.NewSectionReader(in, position, 1<<40))
	if err != nil {
		return nil, position, err
	}
	for n != 0 {
		row, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		rows, position, rest = append(rows, row), position+int64(len(row))+1, after
		n--
	}
	return rows, position, nil
}
