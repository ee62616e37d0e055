// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"prywalk/internal/host/filememory"
)

// MiniDebug opens the xz-compressed ELF file in .gnu_debugdata (GDB manual, "MiniDebugInfo"). The error is as
// [File.Data]'s; errTooBig also means more than 256 MiB. Memory is of f's account: the result is not released by
// itself.
func (f *File) MiniDebug() (*File, error) {
	raw, err := f.Data(f.Section(".gnu_debugdata"))
	if err != nil {
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	defer f.Free(raw)
	out := growingBuffer{memory: f.memory}
	if err := unxz(&out, raw); err != nil {
		out.drop()
		return nil, fmt.Errorf(".gnu_debugdata: %w", err)
	}
	mini := &File{r: bytes.NewReader(out.data), size: uint64(len(out.data)), memory: f.memory}
	if err := mini.open(); err != nil {
		out.drop()
		return nil, err
	}
	return mini, nil
}

type growingBuffer struct {
	memory *filememory.Account
	data   []byte
}

// Write implements io.Writer.
func (g *growingBuffer) Write(b []byte) (int, error) {
	if need := len(g.data) + len(b); need > cap(g.data) {
		old := cap(g.data)
		next := max(need, 2*old, leastBuffer)
		if err := g.memory.Take(int64(next), ".gnu_debugdata"); err != nil {
			return 0, err
		}
		g.data = append(make([]byte, 0, next), g.data...)
		g.memory.Give(int64(old))
	}
	g.data = append(g.data, b...)
	return len(b), nil
}

func (g *growingBuffer) drop() {
	g.memory.Give(int64(cap(g.data)))
	g.data = nil
}

// xz file format 1.2.0, §2 and §3. The xz package would allocate the dictionary that a block claims, up to 4 GiB.
const (
	xzMagic      = "\xfd7zXZ\x00"
	xzHeaderSize = 12
	xzLZMA2      = 0x21
	leastBuffer  = 1 << 20
	maxMiniDebug = 256 << 20
	maxXZDict    = 64 << 20
	// xz -9 makes one block with a dictionary of 64 MiB.
	maxXZBlocks = 64
	maxXZDicts  = 80 << 20
)

// xzCheckSize is in bytes, by the type of the check (§2.1.1.2).
var xzCheckSize = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

func unxz(out *growingBuffer, raw []byte) error {
	if len(raw) < xzHeaderSize || string(raw[:6]) != xzMagic {
		return &FormatError{"not xz data", 0}
	}
	check := xzCheckSize[raw[7]&15]
	r := bytes.NewReader(raw[xzHeaderSize:])
	dicts := int64(0)
	defer func() { out.memory.Give(dicts) }()
	for range maxXZBlocks {
		dict, last, err := xzBlockHeader(r)
		if err != nil || last {
			return err
		}
		if dicts+int64(dict) > maxXZDicts {
			return fmt.Errorf("dictionaries of xz blocks: %w", errTooBig)
		}
		if err := out.memory.Take(int64(dict), ".gnu_debugdata"); err != nil {
			return err
		}
		dicts += int64(dict)
		start := r.Len()
		if err := unlzma2(out, r, dict); err != nil {
			return err
		}
		pad := (4 - (start-r.Len())%4) % 4
		if _, err := r.Seek(int64(pad+check), io.SeekCurrent); err != nil {
			return err
		}
	}
	return fmt.Errorf("number of xz blocks: %w", errTooBig)
}

// xzBlockHeader reads a block's header (§3.1) and returns the dictionary's size in bytes. last means that the index
// begins instead.
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
	for bit := byte(0x40); bit != 0; bit <<= 1 { // compressed and uncompressed size, both optional
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
	claimed, err := lzma.DecodeDictCap(filter[2]) // §5.3.1; greater distances than maxXZDict fail to decode
	return int(min(claimed, maxXZDict)), false, err
}

func unlzma2(out *growingBuffer, r *bytes.Reader, dict int) error {
	z, err := lzma.Reader2Config{DictCap: dict}.NewReader2(r)
	if err != nil {
		return fmt.Errorf("xz block: %w", err)
	}
	left := int64(maxMiniDebug - len(out.data))
	n, err := io.Copy(out, io.LimitReader(z, left+1))
	if err != nil {
		return fmt.Errorf("xz block: %w", err)
	}
	if n > left {
		return fmt.Errorf("xz data: %w", errTooBig)
	}
	return nil
}
