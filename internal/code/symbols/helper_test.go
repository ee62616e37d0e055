// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func openFile(path string) (io.ReaderAt, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, st.Size(), nil
}

func openTable(tb testing.TB, path string) *Table {
	tb.Helper()
	r, size, err := openFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := elffile.Open(r, size)
	if err != nil {
		tb.Fatal(err)
	}
	t := New(Sources{File: f, Path: path, Open: openFile})
	tb.Cleanup(func() {
		t.Close()
		r.(io.Closer).Close()
	})
	return t
}

func need(tb testing.TB, tool string) string {
	tb.Helper()
	p := testtargets.NeedProgram(tb, tool)
	return p
}

func run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := bounded.Output(cmd)
	if err != nil {
		tb.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

func write(tb testing.TB, dir, name, text string) string {
	tb.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return p
}

// FuncRange returns the bounds of the function around addr by ELF symbols.
func (t *Table) FuncRange(addr uint64) (start, end uint64, ok bool) {
	s := t.symbols().find(addr)
	if s == nil {
		return 0, 0, false
	}
	return s.addr, s.addr + uint64(s.size), true
}
