// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"io"
	"sync"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/elffile"
)

// Image is an ELF file with code. ELF is not safe for concurrent use; the rule sources are.
type Image struct {
	// ID is unique in this run of prywalk, not 0.
	ID uint64
	// Path is the first known path, or [vdso].
	Path string
	// BuildID is the GNU build id in hex, or "".
	BuildID string
	ELF     *elffile.File
	// FromMemory: the file is unreadable; only loaded sections are, while the process lives.
	FromMemory bool
	Deleted    bool // the file is unlinked

	usage         usage
	file          *pooledFile // or nil
	mu            sync.Mutex
	rules         atomic.Pointer[fileRules] // nil: not made
	debug         debugFiles
	symbolsByName map[string]symbolRange
	symbols       fileSymbols
}

var lastImage atomic.Uint64

func newImage(r io.ReaderAt, size int64, m *Mapping) (*Image, error) {
	f, err := elffile.Open(r, size)
	if err != nil {
		return nil, err
	}
	f.Memory().Rename(m.Path)
	img := &Image{ID: lastImage.Add(1), Path: m.Path, BuildID: f.BuildID(), ELF: f, Deleted: m.Deleted}
	img.debug.elf, img.debug.path = f, m.Path
	img.symbols.elf, img.symbols.from = f, &img.debug
	return img, nil
}

// ReadAddr reads at a file address.
func (img *Image) ReadAddr(addr uint64, b []byte) int {
	img.mu.Lock()
	defer img.mu.Unlock()
	return img.ELF.ReadAddr(addr, b)
}

// lock locks img.mu, which the caller unlocks, and returns the rules.
func (img *Image) lock() *fileRules {
	p := img.preparedRules()
	img.mu.Lock()
	return p
}

func (img *Image) preparedRules() *fileRules {
	if p := img.rules.Load(); p != nil {
		return p
	}
	img.mu.Lock()
	defer img.mu.Unlock()
	p := img.rules.Load()
	if p == nil {
		p = &fileRules{}
		p.prepare(&img.symbols)
		img.rules.Store(p)
	}
	return p
}

func (img *Image) forget() {
	p := img.lock()
	defer img.mu.Unlock()
	p.code.Forget()
}

func (img *Image) release() {
	if img == nil {
		return
	}
	img.ELF.Release()
	for _, f := range img.debug.found {
		f.Release()
	}
}

// Clone returns the same file with separate tables, for another goroutine. Precondition: the clone is closed before the
// cache of the first image, whose open file it shares.
func (img *Image) Clone() (*Image, error) {
	f, err := img.ELF.Reopen()
	if err != nil {
		return nil, err
	}
	f.Memory().Rename(img.Path)
	t := &Image{
		ID: lastImage.Add(1), Path: img.Path, BuildID: img.BuildID, ELF: f, FromMemory: img.FromMemory,
		Deleted: img.Deleted,
	}
	t.debug.elf, t.debug.path = f, img.Path
	t.symbols.elf, t.symbols.from = f, &t.debug
	return t, nil
}

// Close frees the memory of a clone.
func (img *Image) Close() { img.release() }

func elfImage(m *frames.Module) *Image {
	at := MappingOf(m)
	if at == nil {
		return nil
	}
	return at.Image
}
