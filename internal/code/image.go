// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/elffile"
	"prywalk/internal/managed"
	"prywalk/internal/safeopen"
)

// Image is an ELF file with code. ELF is not safe for concurrent use; the rule sources are.
type Image struct {
	// ID is unique in this run of prywalk, and not 0.
	ID uint64
	// Path is the first known path, or [vdso].
	Path string
	// BuildID is the GNU build id in hex; "" for none.
	BuildID string
	ELF     *elffile.File
	// FromMemory: the file is unreadable; only loaded sections are, while the process lives.
	FromMemory bool
	// Deleted: the file is unlinked.
	Deleted bool

	usage            usage
	file             *pooledFile // nil: not in a pool
	mu               sync.Mutex
	parts            atomic.Pointer[parts] // nil: not made
	debug            debugFiles
	symbolsByName    map[string]symbolRange
	ownSymbolsByName map[string][]managed.Symbol
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
	return img, nil
}

// DebugFiles sets how to open img's debug file by path; the cache closes it. img may be nil.
func (c *ImageCache) DebugFiles(img *Image, open func(path string) (*safeopen.File, error)) {
	if img != nil && img.debug.open == nil {
		img.debug.open, img.debug.files = open, c.files
	}
}

// ReadAddr reads at a file address.
func (img *Image) ReadAddr(addr uint64, b []byte) int {
	img.mu.Lock()
	defer img.mu.Unlock()
	return img.ELF.ReadAddr(addr, b)
}

const maxSources = 4

func (img *Image) lazySources() ([]frames.RuleSource, frames.CallSites) {
	out := make([]frames.RuleSource, maxSources)
	for i := range out {
		out[i] = lazySource{img, i}
	}
	return out, lazyCalls{img}
}

type lazySource struct {
	img *Image
	i   int
}

// Rule implements frames.RuleSource.
func (l lazySource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	p := l.img.prepared()
	if l.i >= len(p.sources) {
		return frames.Rule{}, nil, false
	}
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	r, row, ok := p.sources[l.i].Rule(q)
	if ok && row != nil && !q.Caller {
		r, row = fixEpilogue(r, row, q, l.img.ELF.Arch(), p.calls)
	}
	return r, row, ok
}

// fixEpilogue corrects a row that uses the frame pointer at a pc where the epilogue has restored it
// ([frames.Returns]).
func fixEpilogue(
	r frames.Rule, row *frames.Row, q frames.Query, arch frames.Arch, calls frames.CallSites,
) (frames.Rule, *frames.Row) {
	a, ok := calls.(frames.Returns)
	if !ok || !row.ByFramePointer(arch) {
		return r, row
	}
	kept := a.AboutToReturn(q.PC)
	if kept>>arch.FP()&1 == 0 {
		return r, row
	}
	mended := *row
	mended.MarkRestored(arch, kept)
	r, more := mended.Rule(arch, r.Method, r.Flags)
	if !more {
		return r, nil
	}
	return r, &mended
}

type lazyCalls struct{ img *Image }

// CallBefore implements frames.CallSites.
func (l lazyCalls) CallBefore(ret frames.Addr) (frames.Call, bool) {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	return p.calls.CallBefore(ret)
}

// FuncStart implements frames.CallSites.
func (l lazyCalls) FuncStart(pc frames.Addr) (frames.Addr, bool) {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	start, _, ok := p.FuncRange(pc)
	return start, ok
}

// FuncRange implements [frames.Extents].
func (l lazyCalls) FuncRange(pc frames.Addr) (start, end frames.Addr, ok bool) {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	return p.FuncRange(pc)
}

// EndsStack implements frames.StackEnds.
func (l lazyCalls) EndsStack(pc frames.Addr) bool {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	e, ok := p.calls.(frames.StackEnds)
	return ok && e.EndsStack(pc)
}

// LeavesByJump implements frames.Jumps.
func (l lazyCalls) LeavesByJump(start frames.Addr) bool {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	j, ok := p.calls.(frames.Jumps)
	return !ok || j.LeavesByJump(start)
}

// ChangesStack implements [frames.Switches].
func (l lazyCalls) ChangesStack(pc frames.Addr, caller bool) bool {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	s, ok := p.calls.(frames.Switches)
	return ok && s.ChangesStack(pc, caller)
}

// Popped implements [frames.Pops].
func (l lazyCalls) Popped(pc frames.Addr, n int) (reg uint8, ok bool) {
	p := l.img.prepared()
	l.img.mu.Lock()
	defer l.img.mu.Unlock()
	s, ok := p.calls.(frames.Pops)
	if !ok {
		return 0, false
	}
	return s.Popped(pc, n)
}

func (img *Image) prepared() *parts {
	if p := img.parts.Load(); p != nil {
		return p
	}
	img.mu.Lock()
	defer img.mu.Unlock()
	p := img.parts.Load()
	if p == nil {
		p = &parts{}
		p.prepare(img.ELF, &img.debug)
		img.parts.Store(p)
	}
	return p
}

func (img *Image) forget() {
	p := img.prepared()
	img.mu.Lock()
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

// Clone returns the same file with separate tables, for another goroutine. The open file is shared. Precondition:
// the clone is closed before the cache of the first image.
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
	return t, nil
}

// Close frees the memory of a clone.
func (img *Image) Close() { img.release() }

type fileKey struct {
	dev, inode uint64
	path       string
}

// ImageCache holds one image per file until Close; unused ones hold headers only ([ImageCache.CloseUnused]). Not
// safe for concurrent use.
type ImageCache struct {
	files  *filePool
	byName map[fileKey]*Image // nil: not ELF or unreadable
	byFile map[safeopen.ID]*Image
	vdsos  []vdso
}

type vdso struct {
	bytes []byte
	img   *Image
}

// NewImageCache makes an empty cache of at most maxFiles open files; 0 derives it from RLIMIT_NOFILE.
func NewImageCache(maxFiles int) *ImageCache {
	return &ImageCache{
		files:  newFilePool(maxFiles),
		byName: map[fileKey]*Image{},
		byFile: map[safeopen.ID]*Image{},
	}
}

// Close closes the files and invalidates the images.
func (c *ImageCache) Close() error {
	for _, img := range c.byFile {
		img.release()
	}
	c.files.closeAll()
	return nil
}

// Image implements AddressSpace: nil if the file that m maps is not ELF.
func (p *Process) Image(m *Mapping) *Image {
	key := fileKey{m.Dev, m.Inode, m.Path}
	if img, ok := p.cache.byName[key]; ok {
		return img
	}
	f, err := p.openMapped(m)
	if errors.Is(err, safeopen.ErrStuck) {
		m.Withheld = true
		return nil
	}
	if err != nil {
		img := MemoryImage(NewMemFile(p, m), m) // not cached
		p.cache.DebugFiles(img, p.files.Debug)
		return img
	}
	img, err := p.cache.Load(f, m)
	p.cache.DebugFiles(img, p.files.Debug)
	if err == nil {
		p.cache.byName[key] = img
	}
	return img
}

// Load returns the image of a file, and takes the file over; nil if not ELF of a supported architecture.
func (c *ImageCache) Load(f *safeopen.File, m *Mapping) (*Image, error) {
	id := f.ID()
	if img, ok := c.byFile[id]; ok {
		return img, f.Close()
	}
	h := c.files.add(f)
	h.path = m.Path
	img, err := newImage(h, id.Size, m)
	if err != nil {
		img = nil
		c.files.drop(h)
	} else {
		img.file = h
	}
	c.byFile[id] = img
	return img, nil
}

// MemoryImage makes an image from a mapping; nil if r is nil or not ELF.
func MemoryImage(r *MemFile, m *Mapping) *Image {
	if r == nil {
		return nil
	}
	img, err := newImage(r, r.Size(), m)
	if err != nil {
		return nil
	}
	img.FromMemory = true
	return img
}

const maxVDSO = 1 << 20

// vdso returns the image of the vDSO, whose mapping is a whole ELF file; nil if unreadable.
func (c *ImageCache) vdso(o AddressSpace, m *Mapping) *Image {
	if m.End-m.Start > maxVDSO {
		return nil
	}
	b := make([]byte, m.End-m.Start)
	if _, err := o.ReadMem(m.Start, b); err != nil {
		return nil
	}
	for _, v := range c.vdsos {
		if bytes.Equal(v.bytes, b) {
			return v.img
		}
	}
	img, err := newImage(bytes.NewReader(b), int64(len(b)), m)
	if err != nil {
		return nil
	}
	c.vdsos = append(c.vdsos, vdso{b, img})
	return img
}

func elfImage(m *frames.Module) *Image {
	at := MappingOf(m)
	if at == nil {
		return nil
	}
	return at.Image
}
