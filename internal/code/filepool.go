// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"prywalk/internal/stranger"
)

// filePool bounds the number of files that are open at a time: the one that was used
// least recently is closed, and opened again when it is needed.
type filePool struct {
	mu    sync.Mutex
	limit int
	clock uint64
	open  map[*pooledFile]struct{}
}

// pooledFile is an io.ReaderAt over a file of a pool.
type pooledFile struct {
	pool   *filePool
	f      *stranger.File
	path   string // another name of the file, as this process sees it; "" for none
	closed bool   // f is only there to be opened again
	gone   bool   // its name leads to no file, or to another one
	used   uint64
}

// newFilePool gives a pool for limit files; 0 takes half of what RLIMIT_NOFILE
// allows, at most 512.
func newFilePool(limit int) *filePool {
	if limit <= 0 {
		limit = 512
		var r unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) == nil {
			limit = int(max(16, min(512, r.Cur/2)))
		}
	}
	return &filePool{limit: limit, open: map[*pooledFile]struct{}{}}
}

// add takes an open file into the pool, which closes it from now on.
func (p *filePool) add(f *stranger.File) *pooledFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &pooledFile{pool: p}
	p.keep(h, f)
	return h
}

// keep makes f the open file of h, and closes another if there are too many.
// p.mu is held.
func (p *filePool) keep(h *pooledFile, f *stranger.File) {
	for len(p.open) >= p.limit {
		var oldest *pooledFile
		for o := range p.open {
			if oldest == nil || o.used < oldest.used {
				oldest = o
			}
		}
		oldest.close()
	}
	h.f, h.closed = f, false
	p.clock++
	h.used = p.clock
	p.open[h] = struct{}{}
}

// close closes the file; errors of closing a file that was only read say nothing.
func (h *pooledFile) close() {
	_ = h.f.Close()
	h.closed = true
	delete(h.pool.open, h)
}

// drop closes a file that is of no use.
func (p *filePool) drop(h *pooledFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.closed {
		h.close()
	}
}

// rest closes a file that nobody reads now; it is opened again when it is needed. It reports whether its name still
// leads to it: else that will fail.
func (h *pooledFile) rest() (named bool) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.closed {
		return !h.gone
	}
	f, err := h.again()
	if h.gone = err != nil; !h.gone {
		_ = f.Close() // it was not even read
	}
	h.close()
	return !h.gone
}

// closeAll closes all files for good.
func (p *filePool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.open {
		h.close()
	}
	p.limit = 0
}

var errFileGone = errors.New("the file is no longer what it was")

// ReadAt implements io.ReaderAt.
func (h *pooledFile) ReadAt(b []byte, off int64) (int, error) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.closed {
		if err := h.reopen(); err != nil {
			return 0, err
		}
	}
	h.pool.clock++
	h.used = h.pool.clock
	return h.f.ReadAt(b, off)
}

// reopen opens the file again, if its name still leads to it.
func (h *pooledFile) reopen() error {
	if h.pool.limit == 0 {
		return os.ErrClosed
	}
	f, err := h.again()
	if err != nil {
		return err
	}
	h.pool.keep(h, f)
	return nil
}

// again opens the same file by the name that it was opened by, else by its path. What was opened as a mapping of a
// process has no other name when that has ended.
func (h *pooledFile) again() (*stranger.File, error) {
	f, err := h.same(h.f.Again())
	if err != nil && strings.HasPrefix(h.path, "/") {
		f, err = h.same(h.f.AgainAt(h.path))
	}
	return f, err
}

// same gives a file that was opened, if it is this one as it was.
func (h *pooledFile) same(f *stranger.File, err error) (*stranger.File, error) {
	if err == nil && f.ID() != h.f.ID() {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), errFileGone), f.Close())
	}
	return f, err
}
