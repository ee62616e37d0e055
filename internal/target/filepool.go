package target

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
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
	pool *filePool
	path string // to open it again
	id   fileID
	f    *os.File
	used uint64
}

// fileID tells one file, in one state, from all others.
type fileID struct {
	dev, inode uint64
	size       int64
	mtime      int64 // nanoseconds
}

// identify gives the identity of an open file.
func identify(f *os.File) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fileID{}, fmt.Errorf("fstat %s: %w", f.Name(), err)
	}
	return fileID{
		dev:   uint64(unix.Major(st.Dev))<<32 | uint64(unix.Minor(st.Dev)),
		inode: st.Ino, size: st.Size, mtime: st.Mtim.Nano(),
	}, nil
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
func (p *filePool) add(f *os.File, id fileID) *pooledFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &pooledFile{pool: p, path: f.Name(), id: id}
	p.keep(h, f)
	return h
}

// keep makes f the open file of h, and closes another if there are too many.
// p.mu is held.
func (p *filePool) keep(h *pooledFile, f *os.File) {
	for len(p.open) >= p.limit {
		var oldest *pooledFile
		for o := range p.open {
			if oldest == nil || o.used < oldest.used {
				oldest = o
			}
		}
		oldest.close()
	}
	h.f = f
	p.clock++
	h.used = p.clock
	p.open[h] = struct{}{}
}

// close closes the file; errors of closing a file that was only read say nothing.
func (h *pooledFile) close() {
	_ = h.f.Close()
	h.f = nil
	delete(h.pool.open, h)
}

// drop closes a file that is of no use.
func (p *filePool) drop(h *pooledFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.f != nil {
		h.close()
	}
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
	if h.f == nil {
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
	f, err := openRegular(h.path)
	if err != nil {
		return err
	}
	if id, err := identify(f); err != nil || id != h.id {
		return errors.Join(fmt.Errorf("%s: %w", h.path, errFileGone), err, f.Close())
	}
	h.pool.keep(h, f)
	return nil
}
