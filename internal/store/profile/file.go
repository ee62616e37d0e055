// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/host/outfile"
)

// WriteFile writes to path ("-": standard output). A regular file is replaced atomically, with mode 0600.
func (b *Builder) WriteFile(path string, r Resolver) error {
	return writeFile(path, " with -o", func(w io.Writer) error { return b.Write(w, r) })
}

// WriteFileAtomic is WriteFile for other contents. It refuses to replace a recording.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	if isRecording(path) {
		return errIsRecording(path)
	}
	return writeFile(path, "", write)
}

// WritePGO is WriteFileAtomic for a profile for the Go compiler; it replaces an earlier such profile, but no recording,
// compressed or not.
func WritePGO(path string, write func(io.Writer) error) error {
	if st, err := os.Stat(path); path != "-" && err == nil && st.Mode().IsRegular() {
		if p, err := ReadFile(path); err == nil && slices.ContainsFunc(p.SampleType, isWall) {
			return errIsRecording(path)
		}
	}
	return writeFile(path, "", write)
}

func isWall(t *pprof.ValueType) bool { return t.Type == TypeWall }

func errIsRecording(path string) error {
	return fmt.Errorf("cannot write %s: it is a recording; name another file to write, before the recording to read",
		path)
}

// flag is " with -o" if that option chose the path, else "".
func writeFile(path, flag string, write func(io.Writer) error) error {
	err := outfile.Write(path, write)
	if path == "-" {
		path = "the standard output"
	}
	return withWriteRemedy(path, flag, err)
}

func withWriteRemedy(path, flag string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = " (free some space, or choose another place" + flag + ")"
	case errors.Is(err, syscall.EFBIG):
		hint = " (raise ulimit -f, or choose another place" + flag + ")"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		hint = " (make the directory first, or choose another place" + flag + ")"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EISDIR),
		errors.Is(err, outfile.ErrForeignLink), errors.Is(err, outfile.ErrForeignFile),
		errors.Is(err, outfile.ErrBlockDevice):
		hint = " (choose another place" + flag + ")"
	}
	return fmt.Errorf("cannot write %s: %w%s", path, err, hint)
}
