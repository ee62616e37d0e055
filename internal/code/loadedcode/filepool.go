// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/safeopen"
)

// filePool bounds open files: at the limit it closes the least recently used one, which its next read reopens.
type filePool struct {
	mu    sync.Mutex
	limit int // 0 once it is closed
	clock uint64
	open  map[*pooledFile]struct{}
}

type pooledFile struct {
	pool      *filePool
	f         *safeopen.File
	path      string // the file's path in this mount namespace, used when its link is gone; "" for none
	closed    bool
	nameTaken bool
	used      uint64
}

// newFilePool takes a limit of open files. With 0 it is half of RLIMIT_NOFILE, 16 to 512.
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

func (p *filePool) add(f *safeopen.File) *pooledFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &pooledFile{pool: p, f: f}
	if p.limit == 0 {
		h.close()
		return h
	}
	p.setOpen(h, f)
	return h
}

// setOpen makes f the open file of h. Preconditions: p.mu is held, and the pool is open.
func (p *filePool) setOpen(h *pooledFile, f *safeopen.File) {
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

func (h *pooledFile) close() {
	_ = h.f.Close()
	h.closed = true
	delete(h.pool.open, h)
}

func (p *filePool) drop(h *pooledFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.closed {
		h.close()
	}
}

// Close implements [io.Closer].
func (h *pooledFile) Close() error {
	h.pool.drop(h)
	return nil
}

// closeUntilRead reports whether the file's name, when it was closed, led to it; else the next read fails.
func (h *pooledFile) closeUntilRead() (named bool) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.closed {
		return !h.nameTaken
	}
	f, err := h.openAgain()
	if h.nameTaken = err != nil; !h.nameTaken {
		_ = f.Close()
	}
	h.close()
	return !h.nameTaken
}

func (p *filePool) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.open {
		h.close()
	}
	p.limit = 0
}

var errFileGone = errors.New("the file is no longer what it was")

// ReadAt implements io.ReaderAt. It fails for a file overwritten in place: mixed tables would give wrong names.
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
	n, err := h.f.ReadAt(b, off)
	if h.f.Changed() {
		return 0, fmt.Errorf("%s: %w", h.f.Name(), errFileGone)
	}
	return n, err
}

func (h *pooledFile) isUnchanged() bool {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	return !h.closed && !h.f.Changed()
}

func (h *pooledFile) reopen() error {
	if h.pool.limit == 0 {
		return os.ErrClosed
	}
	f, err := h.openAgain()
	if err != nil {
		return err
	}
	h.pool.setOpen(h, f)
	return nil
}

func (h *pooledFile) openAgain() (*safeopen.File, error) {
	f, err := h.checkSame(h.f.Reopen())
	if err != nil && strings.HasPrefix(h.path, "/") {
		f, err = h.checkSame(h.f.ReopenAt(h.path))
	}
	return f, err
}

func (h *pooledFile) checkSame(f *safeopen.File, err error) (*safeopen.File, error) {
	if err == nil && f.ID() != h.f.ID() {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), errFileGone), f.Close())
	}
	return f, err
}
