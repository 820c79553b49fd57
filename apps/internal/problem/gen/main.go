// Command gen writes the bundled plate to the file that is its argument.
package main

import (
	"fmt"
	"os"

	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/problem"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE.npy")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	p := problem.Bundled
	u := make([]float64, 0, p.Rows*p.Cols)
	for j := range p.Rows {
		for i := range p.Cols {
			u = append(u, p.Initial(j, i))
		}
	}
	temp, err := gridfile.Create(path, p.Rows, p.Cols)
	if err != nil {
		return err
	}
	out, err := gridfile.OpenOutput(temp, p.Rows, p.Cols)
	if err != nil {
		return err
	}
	if err := out.WriteRows(0, u); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return gridfile.Commit(temp, path)
}
