// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"maps"
	"slices"
	"sync/atomic"

	"prywalk/internal/host/safeopen"
)

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
	img.rules.Store(nil)
	img.ELF.FreeContents()
	return img.file == nil || img.file.closeUntilRead()
}

func (img *Image) dropHeaders() {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.symbols.named, img.symbols.first = nil, nil
	img.ELF.FreeAll()
}

func countUsers(code []codeMapping, n int64) {
	for i := range code {
		if img := code[i].at.Image; img != nil {
			img.usage.users.Add(n)
		}
	}
}
