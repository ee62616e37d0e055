// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const table = heading + "aim\n" +
	"busy\tprywalk\t100, depth 10\t1\t100\t21\t0.9923\t0.9908 to 0.9955 (wider than asked for)\t0.99: reached\n"

func TestRowsOfTheFileAreRead(t *testing.T) {
	rows, err := parse(table)
	want := row{"busy", "prywalk", "100, depth 10", 1, 100, 0.9923, 0.9908, 0.9955}
	if err != nil || len(rows) != 1 || rows[0] != want {
		t.Fatalf("%+v, %v, want %+v", rows, err, want)
	}
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "no table", heading + "aim\n",
		strings.Replace(table, "0.9923", "-", 1),
		strings.Replace(table, "0.9908 to 0.9955", "0.99", 1),
		heading + "aim\nbusy\tprywalk\t100\n",
	} {
		if rows, err := parse(text); err == nil {
			t.Errorf("%+v of %q", rows, text)
		}
	}
}

func TestChartsInDocsAreOfTheTables(t *testing.T) {
	root := filepath.Join("..", "..")
	dir := t.TempDir()
	if err := draw(filepath.Join(root, results), dir); err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		made, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(filepath.Join(root, "docs", "charts", c.file))
		if err != nil || string(kept) != string(made) {
			t.Errorf("docs/charts/%s is not of %s, run: go -C benchmarks run ./charts (%v)", c.file, results, err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(made))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", c.file, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(table)
	f.Fuzz(func(t *testing.T, page string) {
		rows, err := parse(page)
		if err == nil && len(rows) == 0 {
			t.Error("no row and no error")
		}
	})
}
