// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

var sample = bytes.Repeat([]byte("call frame information "), 10000)

func deflated(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func chdr(kind elf.CompressionType, size uint64, data []byte) []byte {
	return append(appendNumbers(nil, uint32(kind), uint32(0), size, uint64(1)), data...)
}

func zstandard(t testing.TB, b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

// elfutils compresses as a stream: the window is that of the level, however short the section.
func TestZstdWindowMayExceedTheContents(t *testing.T) {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(sample, 1000) {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var frame zstd.Header
	if err := frame.Decode(out.Bytes()); err != nil || frame.WindowSize != 8<<20 {
		t.Fatalf("window %d, %v; want 8 MiB", frame.WindowSize, err)
	}
	m := newImage()
	m.add(Section{Name: ".zstd", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(elf.COMPRESS_ZSTD, uint64(len(sample)), out.Bytes()))
	f := openBytes(t, m.bytes())
	if got, err := f.Data(f.Section(".zstd")); err != nil || !bytes.Equal(got, sample) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestCompressedSections(t *testing.T) {
	n := uint64(len(sample))
	m := newImage()
	m.add(Section{Name: ".plain", Type: elf.SHT_PROGBITS}, sample)
	m.add(Section{Name: ".zlib", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(elf.COMPRESS_ZLIB, n, deflated(t, sample)))
	m.add(Section{Name: ".zstd", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		chdr(elf.COMPRESS_ZSTD, n, zstandard(t, sample)))
	f := openBytes(t, m.bytes())
	for _, name := range []string{".plain", ".zlib", ".zstd"} {
		got, err := f.Data(f.Section(name))
		if err != nil || !bytes.Equal(got, sample) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		w, err := f.Window(f.Section(name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.View(n-5, 5); err != nil || string(b) != "tion " || w.Size() != n {
			t.Errorf("%s: view %q, %v", name, b, err)
		}
	}
}

func TestDecompressionIsLimited(t *testing.T) {
	m := newImage()
	zip := deflated(t, sample)
	m.add(Section{Name: ".huge", Flags: elf.SHF_COMPRESSED, Type: elf.SHT_PROGBITS}, chdr(elf.COMPRESS_ZLIB, 1<<40, zip))
	m.add(Section{Name: ".longer", Flags: elf.SHF_COMPRESSED, Type: elf.SHT_PROGBITS},
		chdr(elf.COMPRESS_ZLIB, maxData, zip))
	m.add(Section{Name: ".cut", Flags: elf.SHF_COMPRESSED, Type: elf.SHT_PROGBITS}, chdr(elf.COMPRESS_ZLIB, 100, zip)[:30])
	m.add(Section{Name: ".header", Flags: elf.SHF_COMPRESSED, Type: elf.SHT_PROGBITS}, []byte{1})
	m.add(Section{Name: ".other", Flags: elf.SHF_COMPRESSED, Type: elf.SHT_PROGBITS}, chdr(9, 100, zip))
	m.add(Section{Name: ".bss", Type: elf.SHT_NOBITS}, nil)
	f := openBytes(t, m.bytes())
	for _, name := range []string{".huge", ".longer", ".cut", ".header", ".other", ".bss", ".absent"} {
		b, err := f.Data(f.Section(name))
		if err == nil {
			t.Errorf("%s: %d bytes of a section with another size, want an error", name, len(b))
		}
	}
	if _, err := f.Data(f.Section(".huge")); !errors.Is(err, errTooBig) {
		t.Errorf("error %v, want %v", err, errTooBig)
	}
	if _, err := f.Window(f.Section(".bss")); !errors.Is(err, errNoBits) {
		t.Errorf("error %v, want %v", err, errNoBits)
	}
	if _, err := f.Window(nil); !errors.Is(err, ErrNoSection) {
		t.Errorf("error %v, want %v", err, ErrNoSection)
	}
}

func TestSectionsBeyondTheFile(t *testing.T) {
	m := newImage()
	m.add(Section{Name: ".a", Type: elf.SHT_PROGBITS, Off: 1 << 40, Size: 10}, nil)
	m.add(Section{Name: ".b", Type: elf.SHT_PROGBITS, Off: 64, Size: ^uint64(0)}, nil)
	m.add(Section{Name: ".c", Type: elf.SHT_PROGBITS, Off: 64, Size: 1 << 29}, nil)
	f := openBytes(t, m.bytes())
	for _, name := range []string{".a", ".b", ".c"} {
		if _, err := f.Data(f.Section(name)); err == nil {
			t.Errorf("%s: no error from Data", name)
		}
		if _, err := f.Window(f.Section(name)); err == nil {
			t.Errorf("%s: no error from Window", name)
		}
	}
}

func TestViewsOfAWindowEqualTheData(t *testing.T) {
	data := make([]byte, 300<<10+17)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	m := newImage()
	m.add(Section{Name: ".data", Type: elf.SHT_PROGBITS, Addr: 0x1000}, data)
	f := openBytes(t, m.bytes())
	w, err := f.Window(f.Section(".data"))
	if err != nil || w.Addr() != 0x1000 {
		t.Fatal(err)
	}
	var views [][]byte
	for _, n := range []int{0, 1, 8, overlap, overlap + 1, 2 * blockSize} {
		for _, off := range []int{0, 1, blockSize - 1, blockSize, 3*blockSize - overlap, len(data) - n} {
			off = min(off, len(data)-n)
			b, err := w.View(uint64(off), n)
			if err != nil || !bytes.Equal(b, data[off:off+n]) {
				t.Errorf("view of %d bytes at %d: %v", n, off, err)
			}
			views = append(views, b)
		}
	}
	if cap(views[1]) != 0 || cap(views[7]) != 1 {
		t.Error("a view can be extended over its own bytes")
	}
	for _, bad := range [][2]uint64{{uint64(len(data)), 1}, {1 << 63, 1}, {^uint64(0), 5}} {
		if _, err := w.View(bad[0], int(bad[1])); err == nil {
			t.Errorf("no error for a view at %#x", bad[0])
		}
	}
	if _, err := w.View(0, -1); err == nil {
		t.Error("no error for a view of negative length")
	}
}

func TestViewsStayValidWhenBlocksAreReplaced(t *testing.T) {
	data := make([]byte, (windowBlocks+1)*blockSize)
	data[0], data[windowBlocks*blockSize] = 1, 2
	m := newImage()
	m.add(Section{Name: ".data", Type: elf.SHT_PROGBITS}, data)
	f := openBytes(t, m.bytes())
	w, _ := f.Window(f.Section(".data"))
	first, _ := w.View(0, 1)
	second, _ := w.View(windowBlocks*blockSize, 1)
	if first[0] != 1 || second[0] != 2 {
		t.Errorf("views begin with %v and %v, want 1 and 2", first[0], second[0])
	}
}

func TestBuildID(t *testing.T) {
	id := []byte{0xde, 0xad, 0xbe, 0xef}
	notes := append(note("Other", 3, []byte{1}), note("GNU", 1, []byte{2, 2, 2})...)
	notes = append(notes, note("GNU", noteGNUBuildID, id)...)
	m := newImage()
	m.add(Section{Name: ".note.gnu.build-id", Type: elf.SHT_NOTE}, notes)
	f := openBytes(t, m.bytes())
	if got := f.BuildID(); got != "deadbeef" {
		t.Errorf("by section: build ID %q, want deadbeef", got)
	}
	var types []uint32
	for n := range f.Notes() {
		types = append(types, n.Type)
	}
	if !slices.Equal(types, []uint32{3, 1, 3}) {
		t.Errorf("types of notes %v, want 3, 1, 3", types)
	}
	m = newImage()
	m.segs = []Segment{{Type: elf.PT_NOTE, Off: headerSize + segmentSize + 8, FileSize: uint64(len(notes)), Align: 4}}
	m.add(Section{Name: ".x", Type: elf.SHT_PROGBITS}, notes)
	b := m.bytes()
	clear(b[40:48]) // no section headers
	if got := openBytes(t, b).BuildID(); got != "deadbeef" {
		t.Errorf("by segment: build ID %q, want deadbeef", got)
	}
}

func TestDebugLinks(t *testing.T) {
	crc := crc32.ChecksumIEEE(sample)
	m := newImage()
	m.add(Section{Name: ".gnu_debuglink", Type: elf.SHT_PROGBITS}, appendNumbers([]byte("a.debug\x00"), crc))
	m.add(Section{Name: ".gnu_debugaltlink", Type: elf.SHT_PROGBITS}, []byte("/usr/lib/x\x00\xab\xcd"))
	f := openBytes(t, m.bytes())
	headers := f.Memory().Used()
	if name, got, ok := f.debugLink(); !ok || name != "a.debug" || got != crc {
		t.Errorf("debug link %q, %#x, %v; want a.debug, %#x", name, got, ok, crc)
	}
	if path, id, ok := f.debugAltLink(); !ok || path != "/usr/lib/x" || id != "abcd" {
		t.Errorf("alternate link %q, %q, %v; want /usr/lib/x, abcd", path, id, ok)
	}
	if left := f.Memory().Used() - headers; left != 0 {
		t.Errorf("%d bytes are still counted for the links, want 0", left)
	}
	for _, bad := range []string{"", "name", "name\x00", "\x00\x00\x00\x001234", "../etc/x\x00\x00\x00\x001234"} {
		m := newImage()
		m.add(Section{Name: ".gnu_debuglink", Type: elf.SHT_PROGBITS}, []byte(bad))
		if name, _, ok := openBytes(t, m.bytes()).debugLink(); ok {
			t.Errorf("section %q has the debug link %q, want none", bad, name)
		}
	}
}

func TestSymbolNamesAreBounded(t *testing.T) {
	long := strings.Repeat("n", 3000)
	names := append([]byte("\x00first\x00"+long+"\x00"), bytes.Repeat([]byte("x"), maxString+9)...)
	m := newImage()
	str := m.add(Section{Name: ".strtab", Type: elf.SHT_STRTAB}, names)
	entry := func(name uint32, value uint64) []byte {
		return appendNumbers(nil, name, uint8(0x12), uint8(0), uint16(1), value, uint64(8))
	}
	tab := make([]byte, symbolSize)
	for i, off := range []uint32{1, 7, 7 + 3001, 1 << 30} {
		tab = append(tab, entry(off, uint64(0x1000*i))...)
	}
	m.add(Section{Name: ".symtab", Type: elf.SHT_SYMTAB, Link: uint32(str)}, append(tab, 1, 2, 3))
	f := openBytes(t, m.bytes())
	syms, err := f.Symbols(SymTab)
	if err != nil || len(syms) != 4 {
		t.Fatalf("%d symbols, %v", len(syms), err)
	}
	for i, want := range []string{"first", long, strings.Repeat("x", maxString), ""} {
		if got := f.SymbolName(SymTab, &syms[i]); got != want {
			t.Errorf("symbol %d: %d bytes, want %d", i, len(got), len(want))
		}
	}
	if s := syms[1]; s.Value != 0x1000 || s.Size != 8 || s.Type() != elf.STT_FUNC ||
		s.Bind() != elf.STB_GLOBAL || s.Section != 1 {
		t.Errorf("symbol %+v, want a global function of 8 bytes at 0x1000", s)
	}
	if _, err := f.Symbols(DynSym); !errors.Is(err, ErrNoSection) {
		t.Errorf("error %v, want %v", err, ErrNoSection)
	}
}

func xzOf(t testing.TB, b []byte, cfg xz.WriterConfig) []byte {
	var out bytes.Buffer
	w, err := cfg.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestMiniDebug(t *testing.T) {
	inner := newImage()
	inner.add(Section{Name: ".inner", Type: elf.SHT_PROGBITS}, sample)
	for name, cfg := range map[string]xz.WriterConfig{
		"crc64":     {},
		"crc32":     {CheckSum: xz.CRC32},
		"sha256":    {CheckSum: xz.SHA256},
		"unchecked": {NoCheckSum: true},
		"blocks":    {BlockSize: 100_000},
	} {
		m := newImage()
		m.add(Section{Name: ".gnu_debugdata", Type: elf.SHT_PROGBITS}, xzOf(t, inner.bytes(), cfg))
		got, err := openBytes(t, m.bytes()).MiniDebug()
		if err != nil {
			t.Errorf("%s: MiniDebug: %v", name, err)
			continue
		}
		if b, err := got.Data(got.Section(".inner")); err != nil || !bytes.Equal(b, sample) {
			t.Errorf("%s: the inner section has %d bytes, %v; want those compressed", name, len(b), err)
		}
	}
	if _, err := openBytes(t, newImage().bytes()).MiniDebug(); !errors.Is(err, ErrNoSection) {
		t.Errorf("error %v, want %v", err, ErrNoSection)
	}
}

// A block header may have a dictionary size of 4 GiB.
func TestXZDictionaryIsLimited(t *testing.T) {
	b := xzOf(t, sample, xz.WriterConfig{})
	const dictByte = xzHeaderSize + 4
	if b[dictByte-2] != xzLZMA2 {
		t.Fatalf("block header %x, want LZMA2", b[:20])
	}
	b[dictByte] = 40
	if n, _, err := xzBlockHeader(bytes.NewReader(b[xzHeaderSize:])); n != maxXZDict || err != nil {
		t.Errorf("dictionary of %d bytes, %v; want %d", n, err, maxXZDict)
	}
	var got growingBuffer
	if err := unxz(&got, b); err != nil || !bytes.Equal(got.data, sample) {
		t.Errorf("%v", err)
	}
}
