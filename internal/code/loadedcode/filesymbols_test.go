// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/walk/runtimes/fixedframe"
	"prywalk/internal/walk/runtimes/ruby"
	"prywalk/internal/walk/runtimes/v8"
)

type countingReader struct {
	io.ReaderAt
	from, to, n int64
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	c.n += max(0, min(at+int64(len(b)), c.to)-max(at, c.from))
	return c.ReaderAt.ReadAt(b, at)
}

func TestNamesThatAllDetectorsAskForAreSearchedOnce(t *testing.T) {
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "blob.s"), filepath.Join(dir, "blob")
	if err := os.WriteFile(src, []byte(blob), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "gcc", "-o", exe, src)
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	names := openELF(t, exe).Section(".strtab")
	r := &countingReader{ReaderAt: f, from: int64(names.Off), to: int64(names.Off + names.Size)}
	img, err := newImage(r, info.Size(), &Mapping{MapsLine: MapsLine{Path: exe}})
	if err != nil {
		t.Fatal(err)
	}
	img.symbols.ownSymbols(ruby.Symbols)
	once := r.n
	for _, asked := range [][]string{v8.Symbols, fixedframe.Symbols} {
		img.symbols.ownSymbols(asked)
	}
	if r.n != once || once == 0 {
		t.Errorf("%d bytes of names are read for the first question, %d for all", once, r.n)
	}
	code := img.symbols.ownSymbols([]string{"v8_Default_embedded_blob_code_"})
	if len(code) != 1 || code[0].Name != "v8_Default_embedded_blob_code_" {
		t.Errorf("the answer is %+v", code)
	}
	if other := img.symbols.ownSymbols([]string{"blob_end", "v8_Default_embedded_blob_code_"}); len(other) != 2 {
		t.Errorf("of names that not all are asked for the answer is %+v", other)
	}
}
