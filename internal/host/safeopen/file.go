// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// File is an open file. Reads that may wait for another program are bounded in time.
type File struct {
	f      *os.File
	st     unix.Stat_t
	slow   bool // may wait for another program
	copied bool
	by     *Opener
	req    Request
}

// ID identifies one state of a file.
type ID struct {
	Dev, Inode uint64
	Size       int64
	MTime      int64 // in nanoseconds of Unix time
}

// ID returns the file's identity when opened. Dev has the major number in the upper half.
func (f *File) ID() ID {
	return ID{
		Dev:   uint64(unix.Major(f.st.Dev))<<32 | uint64(unix.Minor(f.st.Dev)),
		Inode: f.st.Ino, Size: f.st.Size, MTime: f.st.Mtim.Nano(),
	}
}

// Size returns the size in bytes when opened.
func (f *File) Size() int64 { return f.st.Size }

// UID returns the owner.
func (f *File) UID() uint32 { return f.st.Uid }

// Name returns the name for messages.
func (f *File) Name() string { return f.f.Name() }

// Stat returns the current state, or ErrStuck for a file that may wait for another program, or its copy.
func (f *File) Stat() (os.FileInfo, error) {
	if f.slow || f.copied {
		return nil, ErrStuck
	}
	return f.f.Stat()
}

// Changed compares size and time of modification with those when opened. A copy, and a file that may wait for another
// program, count as unchanged.
func (f *File) Changed() bool {
	now, err := f.Stat()
	return err == nil && (now.Size() != f.st.Size || now.ModTime().UnixNano() != f.st.Mtim.Nano())
}

// Reopen opens the file by its name.
func (f *File) Reopen() (*File, error) { return f.by.Open(f.req) }

// ReopenAt opens a path from this process's root directory.
func (f *File) ReopenAt(path string) (*File, error) { return f.by.Open(Request{Path: path}) }

// ReadAt implements io.ReaderAt. The error is ErrStuck if the file system does not respond.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if !f.slow {
		return f.f.ReadAt(b, off)
	}
	got, err := f.by.Read(f.Name(), func() ([]byte, error) {
		buf := make([]byte, len(b)) // a late read may write to it after b is reused
		n, err := f.f.ReadAt(buf, off)
		return buf[:n], err
	})
	return copy(b, got), err
}

// Read calls read, which may never return and must return its own buffer; name is for messages. The error is ErrStuck
// or read's.
func (o *Opener) Read(name string, read func() ([]byte, error)) ([]byte, error) {
	b, err := wait(&o.calls, read, nil)
	if err != nil {
		recordSkipped(name, err)
	}
	return b, err
}

// Reader reads the file up to its size when opened.
func (f *File) Reader() io.Reader { return io.NewSectionReader(f, 0, f.st.Size) }

// Close does not wait for another program's file system.
func (f *File) Close() error {
	if f.copied {
		copies.Add(-f.st.Size)
	}
	if !f.slow {
		return f.f.Close()
	}
	_, err := wait(&f.by.calls, func() (struct{}, error) { return struct{}{}, f.f.Close() }, nil)
	if errors.Is(err, ErrStuck) {
		go f.f.Close() // without effect if wait has called it
	}
	return err
}
