// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const oldSuffix = ".old"

var errNotRecording = errors.New("the latter is not a recording")

// BackUpOld makes path.old a name of the recording at path, in place of an earlier path.old; it fails if that is not a
// recording. A symbolic link at path is renamed itself, as perf record does (tools/perf/util/data.c, check_backup).
// Other files and recordings without samples are left out. Call it once a run, before the first write. After an error
// path is unchanged.
func BackUpOld(path string) error {
	return backUpOld(path, keepAs)
}

// CheckOld returns the known reason against [BackUpOld]; nil is no promise.
func CheckOld(path string) error {
	return backUpOld(path, func(string, string) error { return nil })
}

func backUpOld(path string, keep func(path, old string) error) error {
	if !isRecording(path) || isEmpty(path) {
		return nil
	}
	old, err := path+oldSuffix, errNotRecording
	if _, missing := os.Lstat(old); missing != nil || isRecording(old) {
		err = keep(path, old)
	}
	if err != nil {
		return fmt.Errorf("cannot keep %s as %s: %w; move one of them", path, old, err)
	}
	return nil
}

func keepAs(path, old string) error {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink != 0 {
		return os.Rename(path, old)
	}
	tmp := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.old.tmp", filepath.Base(path), os.Getpid()))
	if err := os.Link(path, tmp); err != nil {
		return os.Rename(path, old)
	}
	defer os.Remove(tmp) // rename(2) does nothing if old was a link to the same file
	return os.Rename(tmp, old)
}

// isRecording reports whether path is, or links to, a regular file that begins like a compressed profile. "-" is
// standard output.
func isRecording(path string) bool {
	if path == "-" {
		return false
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return false // opening some devices has effects
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular() && BeginsLikeRecording(f)
}

// BeginsLikeRecording reports whether f begins like a compressed profile.
func BeginsLikeRecording(f io.ReaderAt) bool {
	var magic [2]byte
	_, err := f.ReadAt(magic[:], 0)
	return err == nil && magic == gzipMagic
}

const maxEmptySize = 16 << 10

func isEmpty(path string) bool {
	if st, err := os.Stat(path); err != nil || st.Size() > maxEmptySize {
		return false
	}
	p, err := ReadFile(path)
	return err == nil && len(p.Sample) == 0
}
