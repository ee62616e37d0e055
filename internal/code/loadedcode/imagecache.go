// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"maps"
	"slices"
	"sync/atomic"

	"prywalk/internal/host/safeopen"
)

type fileKey struct {
	dev, inode uint64
	path       string
}

// ImageCache holds one image per file until Close; unused ones have headers only, and those whose name is another
// file's by now, or that are read from a process's memory, are dropped ([ImageCache.CloseUnused]). Not safe for
// concurrent use.
type ImageCache struct {
	// ReadContexts means that what a program publishes of the request on which a thread works is read. Set it before Open.
	ReadContexts bool

	files    *filePool
	byName   map[fileKey]*Image // nil means no ELF file, or an unreadable one
	byFile   map[safeopen.ID]*Image
	inMemory []*Image
	vdsos    []vdso
}

type vdso struct {
	bytes []byte
	img   *Image
}

// NewImageCache returns a cache that keeps at most maxFiles files open; with 0, RLIMIT_NOFILE decides.
func NewImageCache(maxFiles int) *ImageCache {
	return &ImageCache{
		files:  newFilePool(maxFiles),
		byName: map[fileKey]*Image{},
		byFile: map[safeopen.ID]*Image{},
	}
}

// DebugFiles sets how to open img's debug file by path; the cache closes the file. img may be nil.
func (c *ImageCache) DebugFiles(img *Image, open func(path string) (*safeopen.File, error)) {
	if img != nil && img.debug.open == nil {
		img.debug.open, img.debug.files = open, c.files
	}
}

// Close closes the files and invalidates the images.
func (c *ImageCache) Close() error {
	for _, img := range c.byFile {
		img.Close()
	}
	for _, img := range c.inMemory {
		img.Close()
	}
	for _, v := range c.vdsos {
		v.img.Close()
	}
	c.files.closeAll()
	return nil
}

// current returns false if the file has changed, or may change as nothing maps it.
func (c *ImageCache) current(key fileKey) (*Image, bool) {
	img, ok := c.byName[key]
	return img, ok && (img == nil || img.usage.users.Load() > 0 && img.file.isUnchanged())
}

func (c *ImageCache) setName(key fileKey, img *Image) {
	if old := c.byName[key]; old != nil && old != img && old.file != nil {
		c.files.drop(old.file)
	}
	c.byName[key] = img
}

// Load takes f over; nil if it is not ELF of a supported architecture.
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

// MemoryImage returns nil if r is nil or not ELF. The caller closes the image.
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

const maxVDSO = 1 << 20 // bytes

func (c *ImageCache) vdso(o ImageFinder, m *Mapping) *Image {
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

// # Unused files
//
// A recording keeps each image for names. Unused files are closed and their data dropped until they are needed.

type usage struct {
	users          atomic.Int64
	modules        atomic.Int64 // ever made: a program that is started repeatedly often has no user
	modulesAtSweep atomic.Int64
	idle           atomic.Bool // no user or new module at the last sweep
}

// Unused reports whether the file has had no user for some time. Safe for concurrent use.
func (img *Image) Unused() bool {
	return img.FromMemory && img.usage.users.Load() == 0 || img.usage.unused()
}

func (u *usage) unused() bool {
	return u.users.Load() == 0 && u.idle.Load() && u.modules.Load() == u.modulesAtSweep.Load()
}

func (u *usage) sweep() {
	known := u.modules.Load()
	u.idle.Store(u.users.Load() == 0 && known == u.modulesAtSweep.Load())
	u.modulesAtSweep.Store(known)
}

// CloseUnused drops the data of files unused since the call before the last, and deletes unused images that are read
// from memory, or whose name is now another file's, and files without an image. Precondition: no concurrent use of the
// images.
func (c *ImageCache) CloseUnused() {
	maps.DeleteFunc(c.byName, func(_ fileKey, img *Image) bool { return img == nil })
	maps.DeleteFunc(c.byFile, func(_ safeopen.ID, img *Image) bool { return img == nil })
	for id, img := range c.byFile {
		if img.Unused() && !img.drop() {
			delete(c.byFile, id)
			maps.DeleteFunc(c.byName, func(_ fileKey, named *Image) bool { return named == img })
			img.dropHeaders()
		}
		img.usage.sweep()
	}
	c.inMemory = slices.DeleteFunc(c.inMemory, func(img *Image) bool {
		unused := img.usage.unused()
		if unused {
			img.drop()
			img.dropHeaders()
		}
		img.usage.sweep()
		return unused
	})
}

func (img *Image) drop() (named bool) {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.debug.drop()
	img.rules = nil
	img.ELF.FreeContents()
	return img.file == nil || img.file.closeUntilRead()
}

func (img *Image) dropHeaders() {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.symbols.named = nil
	img.ELF.FreeAll()
}

func countUsers(code []*Mapping, n int64) {
	for _, m := range code {
		if m.Image != nil {
			m.Image.usage.users.Add(n)
		}
	}
}
