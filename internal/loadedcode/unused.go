// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"maps"
	"sync/atomic"

	"prywalk/internal/safeopen"
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
	u := &img.usage
	return u.users.Load() == 0 && (img.FromMemory || u.idle.Load() && u.modules.Load() == u.modulesAtSweep.Load())
}

// CloseUnused drops the data of files unused since the call before the last, and deletes unused images whose name is
// now another file's, and files without an image. Precondition: no concurrent use of the images.
func (c *ImageCache) CloseUnused() {
	maps.DeleteFunc(c.byName, func(_ fileKey, img *Image) bool { return img == nil })
	maps.DeleteFunc(c.byFile, func(_ safeopen.ID, img *Image) bool { return img == nil })
	for id, img := range c.byFile {
		if img.Unused() && !img.drop() {
			delete(c.byFile, id)
			maps.DeleteFunc(c.byName, func(_ fileKey, named *Image) bool { return named == img })
			img.dropHeaders()
		}
		known := img.usage.modules.Load()
		img.usage.idle.Store(img.usage.users.Load() == 0 && known == img.usage.modulesAtSweep.Load())
		img.usage.modulesAtSweep.Store(known)
	}
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
