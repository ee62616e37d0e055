// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// mostColumns counts a tab as one.
	mostColumns = 120
	// Never raise it.
	wideLines = 0
)

func eachGoFile(t *testing.T, f func(path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") || isModule(path)) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func tell(t *testing.T, places []string, most int, what string) {
	t.Helper()
	t.Logf("%d %s, %d are allowed", len(places), what, most)
	if len(places) > most {
		t.Errorf("%d %s, more than %d:\n%s", len(places), what, most, strings.Join(places, "\n"))
	}
}

func TestLinesAreShort(t *testing.T) {
	var wide []string
	eachGoFile(t, func(path string) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if strings.Contains(line, "Code generated") {
				return
			}
			if c := utf8.RuneCountInString(line); c > mostColumns {
				wide = append(wide, fmt.Sprintf("%s:%d: %d columns", path, n, c))
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	})
	tell(t, wide, wideLines, fmt.Sprintf("lines of more than %d columns", mostColumns))
}
