// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// licence is among a file's first lines, or the last where a test knows line numbers.
const licence = "SPDX-License-Identifier: Apache-2.0"

// unlicensed are pages, data, and generated files. Of files without a kind only the Makefile has the line.
var unlicensed = []string{"", ".md", ".json", ".svg", ".tsv", ".mod", ".sum", ".lock", ".gitignore"}

func TestSourceFilesNameTheirLicence(t *testing.T) {
	root, found, needed := filepath.Join("..", ".."), 0, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, top := d.Name(), filepath.Dir(path) == root
		if d.IsDir() {
			if name == "testdata" || top && slices.Contains([]string{".git", "bin", "dist", "bench"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		needed[filepath.Ext(name)] = true
		// The top directory may have its user's recordings.
		if name != "Makefile" && (top || !d.Type().IsRegular() || slices.Contains(unlicensed, filepath.Ext(name))) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found++
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		if some := slices.Concat(lines[:min(5, len(lines))], lines[len(lines)-1:]); !slices.ContainsFunc(some,
			func(line string) bool { return strings.Contains(line, licence) }) {
			t.Errorf("%s: add the line %q", path, licence)
		}
		return nil
	})
	if err != nil || found < 1000 {
		t.Errorf("%d source files (%v)", found, err)
	}
	used(t, unlicensed, needed, "unlicensed")
}
