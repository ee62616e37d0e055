// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"prywalk/internal/host/filememory"
)

func openWith(t *testing.T, mem *filememory.Budget, b []byte) *File {
	t.Helper()
	f, err := openIn(mem, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	f.Memory().Rename("/lib/bomb.so")
	t.Cleanup(func() {
		if f.Release(); mem.Used() != 0 {
			t.Errorf("%d bytes of the budget are still used, want 0", mem.Used())
		}
	})
	return f
}

func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// dull returns text that is compressed by a factor of some dozens, like tables.
func dull(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, 0, n)
	for len(out) < n {
		out = fmt.Appendf(out, "%08x%s", rng.Uint32(), strings.Repeat("row of a table ", 30))
	}
	return out[:n]
}

func TestDecompressedSectionsOfAFileShareABudget(t *testing.T) {
	const size, limit = 3 << 20, 8 << 20
	data := dull(size)
	zip := chdr(elf.COMPRESS_ZLIB, size, deflated(t, data))
	m := newImage()
	for i := range 20 {
		m.add(Section{Name: fmt.Sprintf(".debug_%d", i), Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED}, zip)
	}
	mem := filememory.New(limit)
	f := openWith(t, mem, m.bytes())
	whole, refused := 0, 0
	got := allocated(func() {
		for i := range 20 {
			w, err := f.Window(f.DebugSection(fmt.Sprint(i)))
			var e *filememory.Error
			switch {
			case err == nil && w.Size() == size:
				whole++
			case errors.As(err, &e):
				refused++
			default:
				t.Error(err)
			}
		}
	})
	t.Logf("%d sections whole, %d refused; %d bytes allocated, %d of the budget", whole, refused, got, mem.Peak())
	if whole == 0 || refused == 0 || mem.Peak() > limit || got > limit+20*(inflateChunk+zlibScratch) {
		t.Errorf("%d sections whole, %d refused, want some of both; %d bytes allocated, %d of the budget of %d", whole,
			refused, got, mem.Peak(), int64(limit))
	}
	if line := mem.Refusals(); !strings.Contains(line, "/lib/bomb.so") || strings.Contains(line, "\n") {
		t.Errorf("left out %q, want one line with /lib/bomb.so", line)
	}
	if _, err := f.Data(f.DebugSection("1")); err == nil {
		t.Fatal("a section was decompressed beyond the budget")
	}
	f.Release()
	b, err := f.Data(f.DebugSection("1"))
	if err != nil || !bytes.Equal(b, data) {
		t.Errorf("after all was returned: %d bytes, %v", len(b), err)
	}
	f.Free(b)
	if mem.Used() != 0 {
		t.Errorf("%d bytes of the budget are still used, want 0", mem.Used())
	}
}

func TestBombsAreNotDecompressed(t *testing.T) {
	const size = 40 << 20
	zeros := make([]byte, size)
	m := newImage()
	m.add(Section{Name: ".zlib", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(elf.COMPRESS_ZLIB, size, deflated(t, zeros)))
	m.add(Section{Name: ".zstd", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(elf.COMPRESS_ZSTD, size, zstandard(t, zeros)))
	mem := filememory.New(1 << 40)
	f := openWith(t, mem, m.bytes())
	got := allocated(func() {
		for _, name := range []string{".zlib", ".zstd"} {
			if b, err := f.Data(f.Section(name)); !errors.Is(err, errTooBig) {
				t.Errorf("%s: %d bytes, %v; want %v", name, len(b), err, errTooBig)
			}
		}
	})
	if got > 1<<20 {
		t.Errorf("%d bytes allocated, more than expected", got)
	}
}

func TestMiniDebugIsWithinTheBudget(t *testing.T) {
	const limit = 16 << 20
	m := newImage()
	m.add(Section{Name: ".gnu_debugdata", Type: elf.SHT_PROGBITS},
		xzOf(t, make([]byte, 24<<20), xz.WriterConfig{DictCap: 1 << 16}))
	mem := filememory.New(limit)
	f := openWith(t, mem, m.bytes())
	got := allocated(func() {
		var e *filememory.Error
		if _, err := f.MiniDebug(); !errors.As(err, &e) {
			t.Errorf("error %v, want one of the budget", err)
		}
	})
	t.Logf("%d bytes allocated, %d of the budget", got, mem.Peak())
	if mem.Peak() > limit || got > 3*limit {
		t.Errorf("%d bytes allocated, %d of the budget of %d", got, mem.Peak(), int64(limit))
	}
}

func TestDictionariesOfManyBlocksAreBounded(t *testing.T) {
	b := xzOf(t, sample, xz.WriterConfig{BlockSize: 20_000})
	if n := bytes.Count(b, []byte{xzLZMA2, 1}); n < 8 {
		t.Fatalf("%d blocks, want at least 8", n)
	}
	for i := range b[:len(b)-2] {
		if b[i] == xzLZMA2 && b[i+1] == 1 {
			b[i+2] = 40 // the largest dictionary
		}
	}
	var out growingBuffer
	got := allocated(func() {
		if err := unxz(&out, b); !errors.Is(err, errTooBig) {
			t.Errorf("error %v, want %v", err, errTooBig)
		}
	})
	if got > 2*maxXZDicts {
		t.Errorf("%d bytes allocated, more than expected", got)
	}
}

type holes struct{ head []byte }

func (h holes) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(h.head)) {
		copy(b, h.head[off:])
	}
	return len(b), nil
}

func TestClaimedTablesAreWithinTheBudget(t *testing.T) {
	const limit, claimed = 8 << 20, 180 << 20
	m := newImage()
	str := m.add(Section{Name: ".strtab", Type: elf.SHT_STRTAB}, []byte("\x00a\x00"))
	m.add(Section{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(str), Off: 1 << 20, Size: claimed}, nil)
	m.add(Section{Name: ".debug_abbrev", Type: elf.SHT_PROGBITS, Off: 1 << 20, Size: claimed}, nil)
	mem := filememory.New(limit)
	f, err := openIn(mem, holes{m.bytes()}, claimed*2)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	got := allocated(func() {
		var e *filememory.Error
		if _, err := f.Symbols(SymTab); !errors.As(err, &e) {
			t.Errorf("symbols: error %v, want one of the budget", err)
		}
		if _, err := f.Data(f.DebugSection("abbrev")); !errors.As(err, &e) {
			t.Errorf("a section: error %v, want one of the budget", err)
		}
	})
	if got > 1<<20 {
		t.Errorf("%d bytes allocated, more than expected", got)
	}
}

func TestWindowsWorkWithoutACache(t *testing.T) {
	data := dull(3 * blockSize)
	m := newImage()
	m.add(Section{Name: ".data", Type: elf.SHT_PROGBITS}, data)
	mem := filememory.New(1 << 14) // less than a block
	f := openWith(t, mem, m.bytes())
	w, err := f.Window(f.Section(".data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []int{0, blockSize, 2*blockSize + 5, 1, blockSize - 3} {
		if b, err := w.View(uint64(off), 9); err != nil || !bytes.Equal(b, data[off:off+9]) {
			t.Errorf("view at %d: %q, %v", off, b, err)
		}
	}
}
