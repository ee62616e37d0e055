// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"debug/elf"
	"io"
	"sync"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

// Image is an ELF file with code. ELF is not safe for concurrent use; the rule sources are.
type Image struct {
	// ID is unique in this run, not 0.
	ID uint64
	// Path is the first known path, or [vdso].
	Path string
	// BuildID is hexadecimal, or "".
	BuildID string
	ELF     *elffile.File
	// FromMemory means that an unreadable file's loaded sections are read from the process.
	FromMemory bool
	Deleted    bool // unlinked

	usage   usage
	file    *pooledFile // or nil
	mu      sync.Mutex
	rules   *fileRules // nil until it is made
	debug   debugFiles
	symbols fileSymbols
}

var lastImage atomic.Uint64

func newImage(r io.ReaderAt, size int64, m *Mapping) (*Image, error) {
	f, err := elffile.Open(r, size)
	if err != nil {
		return nil, err
	}
	return imageWith(f, m.Path, f.BuildID(), m.Deleted), nil
}

func imageWith(f *elffile.File, path, buildID string, deleted bool) *Image {
	f.Memory().Rename(path)
	img := &Image{ID: lastImage.Add(1), Path: path, BuildID: buildID, ELF: f, Deleted: deleted}
	img.debug.elf, img.debug.path = f, path
	img.symbols.elf, img.symbols.from = f, &img.debug
	return img
}

// ReadAddr returns the number of bytes.
func (img *Image) ReadAddr(addr frames.ModuleAddr, b []byte) int {
	img.mu.Lock()
	defer img.mu.Unlock()
	return img.ELF.ReadAddr(addr, b)
}

// lockRules returns the rules, made if need be. The caller unlocks img.mu.
func (img *Image) lockRules() *fileRules {
	img.mu.Lock()
	return img.madeRules()
}

// madeRules is lockRules with the precondition that img.mu is held.
func (img *Image) madeRules() *fileRules {
	if img.rules == nil {
		img.rules = &fileRules{}
		img.rules.prepare(&img.symbols)
	}
	return img.rules
}

// Clone returns the file with separate tables, without its debug file, for another goroutine. Precondition: the clone
// is closed before the cache of the first image.
func (img *Image) Clone() (*Image, error) {
	f, err := img.ELF.Reopen()
	if err != nil {
		return nil, err
	}
	t := imageWith(f, img.Path, img.BuildID, img.Deleted)
	t.FromMemory = img.FromMemory
	return t, nil
}

// Close frees the memory of a clone, or of an image whose cache is closed. A nil one is closed.
func (img *Image) Close() {
	if img != nil {
		img.ELF.Release()
		img.debug.drop()
	}
}

func elfImage(m *frames.Module) *Image {
	at := MappingOf(m)
	if at == nil {
		return nil
	}
	return at.Image
}

// ImageAt returns the image at an address, also under other mappings, and the address in it.
func ImageAt(space *frames.Space, addr frames.Addr) (*Image, frames.ModuleAddr) {
	for _, m := range space.Modules() {
		img := elfImage(m)
		if img == nil {
			continue
		}
		for i := range img.ELF.Segments {
			s := &img.ELF.Segments[i]
			if s.Type == elf.PT_LOAD && addr-m.Bias-s.VAddr < s.MemSize {
				return img, addr - m.Bias
			}
		}
	}
	return nil, 0
}
