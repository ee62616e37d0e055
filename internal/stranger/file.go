// SPDX-License-Identifier: Apache-2.0

package stranger

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// File is an open file of a stranger's. Reading it never waits for ever.
type File struct {
	f      *os.File
	st     unix.Stat_t // as of when it was opened
	slow   bool        // it may wait for another program
	copied bool        // f is a copy in memory
	by     *Opener
	req    Request
}

// ID tells one file, in one state, from all others.
type ID struct {
	Dev, Inode uint64
	Size       int64
	MTime      int64 // nanoseconds
}

// ID gives the identity that the file had when it was opened. Dev is the major number in the upper half.
func (f *File) ID() ID {
	return ID{
		Dev:   uint64(unix.Major(f.st.Dev))<<32 | uint64(unix.Minor(f.st.Dev)),
		Inode: f.st.Ino, Size: f.st.Size, MTime: f.st.Mtim.Nano(),
	}
}

// Size gives the size in bytes that the file had when it was opened.
func (f *File) Size() int64 { return f.st.Size }

// UID gives the file's owner.
func (f *File) UID() uint32 { return f.st.Uid }

// Name gives the name by which it was opened, for messages.
func (f *File) Name() string { return f.f.Name() }

// Stat tells which file it is. It is not asked of one that may wait for another program.
func (f *File) Stat() (os.FileInfo, error) {
	if f.slow {
		return nil, ErrStuck
	}
	return f.f.Stat()
}

// NextData gives the next place, from off on, that was ever written; the error is unix.ENXIO if there is none
// (lseek(2), SEEK_DATA). A file that may wait for another program is not asked: all of it counts as written.
func (f *File) NextData(off int64) (int64, error) {
	if f.slow {
		return off, nil
	}
	return f.f.Seek(off, unix.SEEK_DATA)
}

// Again opens the file that has the same name now.
func (f *File) Again() (*File, error) { return f.by.Open(f.req) }

// AgainAt opens the file at another path, from this process's root directory on.
func (f *File) AgainAt(path string) (*File, error) { return f.by.Open(Request{Path: path}) }

// ReadAt implements io.ReaderAt. The error is ErrStuck if the file does not answer.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if !f.slow {
		return f.f.ReadAt(b, off)
	}
	got, err := f.by.Read(f.Name(), func() ([]byte, error) {
		buf := make([]byte, len(b)) // of its own: it may still be written to when b is used for something else
		n, err := f.f.ReadAt(buf, off)
		return buf[:n], err
	})
	return copy(b, got), err
}

// Read reads something that may never answer; name is for messages. The bytes that read gives must be its
// own. The error is ErrStuck, or what read gives.
func (o *Opener) Read(name string, read func() ([]byte, error)) ([]byte, error) {
	b, err := wait(&o.account, read, nil)
	if err != nil {
		remark(name, err)
	}
	return b, err
}

// Reader reads the file from its beginning to the end that it had when it was opened.
func (f *File) Reader() io.Reader { return io.NewSectionReader(f, 0, f.st.Size) }

// Close closes the file. It does not wait for a file system that sends word of that to another program.
func (f *File) Close() error {
	if f.copied {
		copies.Add(-f.st.Size)
	}
	if !f.slow {
		return f.f.Close()
	}
	_, err := wait(&f.by.account, func() (struct{}, error) { return struct{}{}, f.f.Close() }, nil)
	return err
}
