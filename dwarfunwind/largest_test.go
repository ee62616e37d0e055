// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
)

type library struct {
	path, build string
	size        uint64 // of .eh_frame, in bytes
}

func largestLibraries(t *testing.T, n int) []library {
	var all []library
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // not readable by this user
		case slices.Contains([]string{"/proc", "/sys", "/dev", "/run", "/tmp"}, path):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(d.Name(), ".so"):
			if l, ok := openLibrary(path); ok {
				all = append(all, l)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b library) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.build, b.build), cmp.Compare(a.path, b.path))
	})
	all = slices.CompactFunc(all, func(a, b library) bool { return a.size == b.size && a.build == b.build })
	return all[:min(n, len(all))]
}

func openLibrary(path string) (l library, ok bool) {
	file, err := os.Open(path)
	if err != nil {
		return l, false
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return l, false
	}
	f, err := elffile.Open(file, st.Size())
	if err != nil || f.Arch() != frames.X86_64 {
		return l, false
	}
	_, eh := f.EhFrame()
	if eh == nil {
		return l, false
	}
	return library{path, f.BuildID(), eh.Size()}, true
}

// make rows, which takes minutes, reads ROWS_LIBRARIES libraries.
func TestEveryRowOfTheLargestLibrariesEqualsReadelfs(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("ROWS_LIBRARIES"))
	testtargets.Need(t, n > 0, "ROWS_LIBRARIES", "make rows")
	fdes, rows := 0, 0
	for _, l := range largestLibraries(t, n) {
		t.Run(filepath.Base(l.path), func(t *testing.T) {
			f, r := compareFile(t, l.path, 0)
			t.Logf("%s: %d FDEs, %d rows", l.path, f, r)
			fdes, rows = fdes+f, rows+r
		})
	}
	t.Logf("in all %d FDEs, %d rows", fdes, rows)
	if fdes == 0 {
		t.Error("no rows were compared")
	}
}
