package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Replaceable reports whether path is (or will be) a regular file, which a write
// replaces as a whole. A pipe, a device or "-" takes one profile only: no
// checkpoints for those.
func Replaceable(path string) bool {
	if path == "-" || isDescriptor(path) {
		return false
	}
	st, err := os.Stat(path)
	return err != nil || st.Mode().IsRegular()
}

// isDescriptor reports names of the process's own open files; replacing what such
// a name points to would leave the open file without the profile.
func isDescriptor(path string) bool {
	path = filepath.Clean(path)
	return path == "/dev/stdout" || path == "/dev/stderr" ||
		strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// WriteFile writes the profile to path: "-" is the standard output; a pipe or device
// is written to; a regular file is replaced in one step, with mode 0600, so that
// at any moment the old or the new profile is there as a whole, also when the
// disk is full or the machine stops.
func (b *Builder) WriteFile(path string, r Resolver) error {
	return writeFile(path, func(w io.Writer) error { return b.Write(w, r) })
}

// WriteFileAtomic is what WriteFile does, for other contents.
func WriteFileAtomic(path string, write func(io.Writer) error) error {
	return writeFile(path, write)
}

func writeFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return explain("the standard output", write(os.Stdout))
	}
	if !Replaceable(path) {
		return explain(path, writeTo(path, write))
	}
	// What a symbolic link leads to is replaced, not the link.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return explain(path, replace(path, write))
}

// writeTo writes into something that is not a regular file.
func writeTo(path string, write func(io.Writer) error) error {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// replace writes a new file beside path and renames it.
func replace(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails, as it should, once it is renamed
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes the rename last. Not every file system can; the profile is whole
// either way, so that a failure is not one of the write.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// explain adds the next step to an error of a write.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = " (a file that was there is unchanged; free some space, or choose another place with -o)"
	case errors.Is(err, fs.ErrNotExist):
		hint = " (make the directory first, or choose another place with -o)"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EISDIR):
		hint = " (choose another place with -o)"
	}
	return fmt.Errorf("cannot write %s: %w%s", path, err, hint)
}
