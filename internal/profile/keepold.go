// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// oldSuffix is what the name of a recording gets that a new one is about to replace.
const oldSuffix = ".old"

// errInTheWay: what has the old recording's name is none.
var errInTheWay = errors.New("a file of that name is not a recording")

// KeepOld keeps the recording at path as path.old, in place of the one that was kept before, because a new one is
// about to replace it. Call it once in a run, before the first write. Should no write come, the recording has both
// names. What is no regular file, no recording, or one without samples, is not kept. After an error the
// file at path is unchanged.
func KeepOld(path string) error {
	if !isRecording(path) || isEmpty(path) {
		return nil
	}
	old := path + oldSuffix
	if _, err := os.Lstat(old); err == nil && !isRecording(old) {
		return fmt.Errorf("cannot keep %s as %s: %w", path, old, errInTheWay)
	}
	// A second name is made and renamed, so that at each moment both names stand for a recording.
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.old.tmp", filepath.Base(path), os.Getpid()))
	if err := os.Link(path, tmp); err != nil {
		return os.Rename(path, old) // a file system without links, or a file that only its owner may link
	}
	defer os.Remove(tmp) // a rename of two names of one file leaves both (rename(2))
	return os.Rename(tmp, old)
}

// isRecording reports whether path is a regular file that begins as a compressed profile does.
func isRecording(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	var magic [2]byte
	_, err = f.ReadAt(magic[:], 0)
	return err == nil && magic == [2]byte{0x1f, 0x8b} // RFC 1952, 2.3.1
}

// mostEmpty is how large a recording without samples is at most, in bytes: it has a comment and a main binary.
const mostEmpty = 16 << 10

// isEmpty reports whether a recording has no samples: a run that saw nothing must not put out the one before it.
func isEmpty(path string) bool {
	if st, err := os.Stat(path); err != nil || st.Size() > mostEmpty {
		return false
	}
	p, err := ReadFile(path)
	return err == nil && len(p.Sample) == 0
}
