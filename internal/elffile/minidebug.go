package elffile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// MiniDebug opens the ELF file, with a symbol table, that distributions embed
// xz-compressed in .gnu_debugdata (GDB manual, "MiniDebugInfo"). The error is
// ErrNoSection if there is none; it is limited to 256 MiB.
func (f *File) MiniDebug() (*File, error) {
	raw, err := f.Data(f.Section(".gnu_debugdata"))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	out, err := unxz(raw)
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	return Open(bytes.NewReader(out), int64(len(out)))
}

// The xz file format 1.2.0, §2 and §3. The container is read here and not by the
// xz package, because that allocates the dictionary size that each block claims,
// up to 4 GiB.
const (
	xzMagic      = "\xfd7zXZ\x00"
	xzHeaderSize = 12
	xzLZMA2      = 0x21
	maxMiniDebug = 256 << 20
	maxXZDict    = 64 << 20
	// maxXZBlocks bounds the number of dictionaries that are allocated.
	maxXZBlocks = 64
)

// xzCheckSize gives the size of the check after each block by its type (§2.1.1.2).
var xzCheckSize = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

func unxz(raw []byte) ([]byte, error) {
	if len(raw) < xzHeaderSize || string(raw[:6]) != xzMagic {
		return nil, &FormatError{"not xz data", 0}
	}
	check := xzCheckSize[raw[7]&15]
	r := bytes.NewReader(raw[xzHeaderSize:])
	var out bytes.Buffer
	for range maxXZBlocks {
		dict, last, err := xzBlockHeader(r)
		if err != nil || last {
			return out.Bytes(), err
		}
		start := r.Len()
		if err := unlzma2(&out, r, dict); err != nil {
			return nil, err
		}
		pad := (4 - (start-r.Len())%4) % 4
		if _, err := r.Seek(int64(pad+check), io.SeekCurrent); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("number of xz blocks: %w", ErrTooBig)
}

// xzBlockHeader reads a block header (§3.1) and gives the dictionary size; last
// says that the index is there instead.
func xzBlockHeader(r *bytes.Reader) (dict int, last bool, err error) {
	size, err := r.ReadByte()
	if err != nil || size == 0 {
		return 0, true, err
	}
	head := make([]byte, int(size)*4+3)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, false, fmt.Errorf("xz block header: %w", err)
	}
	c := bytes.NewReader(head[1:])
	for bit := byte(0x40); bit != 0; bit <<= 1 { // the two optional sizes
		if head[0]&bit != 0 {
			if _, err := binary.ReadUvarint(c); err != nil {
				return 0, false, fmt.Errorf("xz block header: %w", err)
			}
		}
	}
	var filter [3]byte
	if _, err := io.ReadFull(c, filter[:]); err != nil {
		return 0, false, fmt.Errorf("xz block header: %w", err)
	}
	if head[0]&3 != 0 || filter[0] != xzLZMA2 || filter[1] != 1 {
		return 0, false, &FormatError{"xz data with filters other than LZMA2", 0}
	}
	return xzDictSize(filter[2]), false, nil
}

// xzDictSize decodes the size of the dictionary (§5.3.1), limited: a stream with
// longer distances fails to decode.
func xzDictSize(b byte) int {
	if b > 40 {
		return maxXZDict
	}
	return min((2|int(b&1))<<(b/2+11), maxXZDict)
}

// unlzma2 appends the contents of one block.
func unlzma2(out *bytes.Buffer, r *bytes.Reader, dict int) error {
	z, err := lzma.Reader2Config{DictCap: dict}.NewReader2(r)
	if err != nil {
		return fmt.Errorf("xz block: %w", err)
	}
	left := int64(maxMiniDebug - out.Len())
	n, err := io.Copy(out, io.LimitReader(z, left+1))
	if err != nil {
		return fmt.Errorf("xz block: %w", err)
	}
	if n > left {
		return fmt.Errorf("xz data: %w", ErrTooBig)
	}
	return nil
}
