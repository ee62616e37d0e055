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
	"prywalk/internal/stranger"
)

// Image is an ELF file whose code runs in one or more processes. Its ELF is for one
// goroutine at a time; its rule sources may be asked from several.
type Image struct {
	// ID tells it from all other images of this process; never 0.
	ID uint64
	// Path is its name where it was met first, or [vdso].
	Path string
	// BuildID is the GNU build id in hex, empty if it has none.
	BuildID string
	ELF     *elffile.File
	// FromMemory: the file could not be opened; this is what a process has
	// mapped of it: no sections but those that are loaded, and none when the
	// process has ended.
	FromMemory bool
	// Deleted: the kernel said that the file had no name any more.
	Deleted bool

	use   use
	file  *pooledFile // nil: it is not in a pool
	mu    sync.Mutex
	parts atomic.Pointer[parts] // nil: not prepared yet, or at rest
	more  separate
	// Where symbols are that run-time systems have asked for.
	places map[string]symbolRange
	owned  map[string][]managed.Symbol
}

// lastImage is the number of the image that was made last.
var lastImage atomic.Uint64

// newImage reads the headers of a file.
func newImage(r io.ReaderAt, size int64, m *Mapping) (*Image, error) {
	f, err := elffile.Open(r, size)
	if err != nil {
		return nil, err
	}
	f.Memory().Rename(m.Path)
	img := &Image{ID: lastImage.Add(1), Path: m.Path, BuildID: f.BuildID(), ELF: f, Deleted: m.Deleted}
	img.more.elf, img.more.path = f, m.Path
	return img, nil
}

// DebugFiles says how the debug file of an image, which may be nil, is opened by its path. The cache closes it.
func (c *ImageCache) DebugFiles(img *Image, open func(path string) (*stranger.File, error)) {
	if img != nil && img.more.open == nil {
		img.more.open, img.more.files = open, c.files
	}
}

// ReadAddr reads at an address in the file's terms.
func (img *Image) ReadAddr(addr uint64, b []byte) int {
	img.mu.Lock()
	defer img.mu.Unlock()
	return img.ELF.ReadAddr(addr, b)
}

// maxSources is how many rule sources a file can have: Go's table, call frame
// information, that of debug files, and the analysis of the instructions.
const maxSources = 4

// lazy gives what a module asks, which is prepared at the first question.
func (img *Image) lazy() ([]frames.RuleSource, frames.CallSites) {
	out := make([]frames.RuleSource, maxSources)
	for i := range out {
		out[i] = lazySource{img, i}
	}
	return out, lazyCalls{img}
}

// lazySource is one of the sources of an image that may not have been prepared.
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
		r, row = givenBack(r, row, q, l.img.ELF.Arch(), p.calls)
	}
	return r, row, ok
}

// givenBack mends the rule of code that is about to return, see [frames.Returns].
func givenBack(
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
	mended.GivenBack(arch, kept)
	r, more := mended.Rule(arch, r.Method, r.Flags)
	if !more {
		return r, nil
	}
	return r, &mended
}

// lazyCalls is the call sites of an image that may not have been prepared.
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

// prepared gives the parts, made at the first call.
func (img *Image) prepared() *parts {
	if p := img.parts.Load(); p != nil {
		return p
	}
	img.mu.Lock()
	defer img.mu.Unlock()
	p := img.parts.Load()
	if p == nil {
		p = &parts{}
		p.prepare(img.ELF, &img.more)
		img.parts.Store(p)
	}
	return p
}

// forget drops what the analysis of the file's instructions has found.
func (img *Image) forget() {
	p := img.prepared()
	img.mu.Lock()
	defer img.mu.Unlock()
	p.code.Forget()
}

// release gives back the memory that was taken for the image and its debug files.
func (img *Image) release() {
	if img == nil {
		return
	}
	img.ELF.Release()
	for _, f := range img.more.found {
		f.Release()
	}
}

// Twin gives the same file for another goroutine, to look names up there. Its tables are its own, and only the open
// file is shared. Close it before the cache that has the first one is closed.
func (img *Image) Twin() (*Image, error) {
	f, err := img.ELF.Again()
	if err != nil {
		return nil, err
	}
	f.Memory().Rename(img.Path)
	t := &Image{
		ID: lastImage.Add(1), Path: img.Path, BuildID: img.BuildID, ELF: f, FromMemory: img.FromMemory,
		Deleted: img.Deleted,
	}
	t.more.elf, t.more.path = f, img.Path
	return t, nil
}

// Close gives back the memory that was taken for a twin.
func (img *Image) Close() { img.release() }

// fileKey is how a mapping names its file.
type fileKey struct {
	dev, inode uint64
	path       string
}

// ImageCache holds the images of the files that processes run, one for each file.
// They stay until Close, so that names can be looked up when the processes have
// ended; what nobody runs holds nothing but its headers ([ImageCache.Rest]). It is for one goroutine at a time.
type ImageCache struct {
	files  *filePool
	byName map[fileKey]*Image // nil: not an ELF file, or not readable
	byFile map[stranger.ID]*Image
	vdsos  []vdso
}

// vdso is an image that was copied from memory.
type vdso struct {
	bytes []byte
	img   *Image
}

// NewImageCache gives an empty cache that holds at most maxFiles files open at a
// time; 0 chooses by RLIMIT_NOFILE.
func NewImageCache(maxFiles int) *ImageCache {
	return &ImageCache{
		files:  newFilePool(maxFiles),
		byName: map[fileKey]*Image{},
		byFile: map[stranger.ID]*Image{},
	}
}

// Close closes the files, and gives back the memory that was taken for them. The images are of no use afterwards.
func (c *ImageCache) Close() error {
	for _, img := range c.byFile {
		img.release()
	}
	c.files.closeAll()
	return nil
}

// Image implements AddressSpace: it gives the image of the file that m shows; nil if it is no ELF file.
func (p *Process) Image(m *Mapping) *Image {
	key := fileKey{m.Dev, m.Inode, m.Path}
	if img, ok := p.cache.byName[key]; ok {
		return img
	}
	f, err := p.openMapped(m)
	if errors.Is(err, stranger.ErrStuck) {
		m.Withheld = true // so is its memory, perhaps, and who reads that waits without end
		return nil
	}
	if err != nil {
		img := MemoryImage(NewMemFile(p, m), m) // of this process only: not for the cache
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

// Load gives the image of an open file, which it takes over; nil if it is no ELF
// file for which there is an architecture.
func (c *ImageCache) Load(f *stranger.File, m *Mapping) (*Image, error) {
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

// MemoryImage makes an image of what the process has mapped of a file; nil if r is, or if it is no ELF file.
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

// maxVDSO bounds the size of the vDSO in bytes; it has two to four pages.
const maxVDSO = 1 << 20

// vdso gives the image of the vDSO, which exists in memory only. Its mapping holds
// the whole file, section headers included.
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

// elfImage gives the ELF file of a module, nil if it has none.
func elfImage(m *frames.Module) *Image {
	at := MappingOf(m)
	if at == nil {
		return nil
	}
	return at.Image
}
