// SPDX-License-Identifier: Apache-2.0

package code

import "sync/atomic"

// # Files that nobody runs any more
//
// A recording keeps the image of each file that it has seen, so that its names can be looked up. Programs that build
// and unload libraries would so fill memory and descriptors. What was read of a file that nobody runs is dropped, and
// the file closed. Both are had anew when they are needed, which is seldom: its functions have been named by then.

// use counts who runs a file.
type use struct {
	// users are the mappings of live processes. met counts the modules ever made of it, as does seen as of the last
	// sweep: who starts a program again and again has no user at many moments.
	users, met, seen atomic.Int64
	idle             atomic.Bool // at the last sweep it had no user, and was not met since the one before
}

// Unused reports whether nobody has run the file for some time. What is known of its functions is final then, unless
// somebody runs it again. Any goroutine may ask.
func (img *Image) Unused() bool {
	u := &img.use
	return u.users.Load() == 0 && (img.FromMemory || u.idle.Load() && u.met.Load() == u.seen.Load())
}

// Rest is to be called now and then. It lets go of what was read of files that nobody runs since the last call but
// one, and forgets those whose name leads to them no more. Nobody may use what comes from them meanwhile.
func (c *ImageCache) Rest() {
	for id, img := range c.byFile {
		if img == nil {
			continue
		}
		if img.Unused() && !img.rest() {
			delete(c.byFile, id)
			c.forget(img)
			img.forgotten()
		}
		met := img.use.met.Load()
		img.use.idle.Store(img.use.users.Load() == 0 && met == img.use.seen.Load())
		img.use.seen.Store(met)
	}
}

// forget drops the names of an image.
func (c *ImageCache) forget(img *Image) {
	for key, by := range c.byName {
		if by == img {
			delete(c.byName, key)
		}
	}
}

// rest drops what was read of the file and its debug files, and closes them. It reports whether the file's name still
// leads to it.
func (img *Image) rest() (named bool) {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.more.rest()
	img.parts.Store(nil)
	img.ELF.Rest()
	return img.file == nil || img.file.rest()
}

// forgotten drops the headers of a file that has no name and that nobody runs: all its names are known that ever will.
func (img *Image) forgotten() {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.places, img.owned = nil, nil
	img.ELF.Forget()
}

// count adds to the users of the images that mappings show.
func count(code []mapped, n int64) {
	for i := range code {
		if img := code[i].at.Image; img != nil {
			img.use.users.Add(n)
		}
	}
}
