// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

const nobody = 65534

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func shared(t *testing.T) string {
	t.Helper()
	testtargets.NeedRoot(t, "make another user's files")
	dir := filepath.Join(t.TempDir(), "shared")
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); string(b) != want {
		t.Errorf("%s has %q, %v; want %q", path, b, err, want)
	}
}

func TestAnotherUsersLinkIsNotFollowedInASharedDirectory(t *testing.T) {
	dir := shared(t)
	private := t.TempDir()
	secret := filepath.Join(private, "secret")
	must(t, os.WriteFile(secret, []byte("root's"), 0o600))
	link := filepath.Join(dir, "prywalk.pb.gz")
	own := filepath.Join(private, "own")
	must(t, errors.Join(os.Symlink(secret, link), os.Lchown(link, nobody, nobody), os.Symlink(link, own)))
	for _, path := range []string{link, own} {
		if err := Write(path, text("new")); !errors.Is(err, ErrForeignLink) {
			t.Errorf("%s: error %v, want %v", path, err, ErrForeignLink)
		}
		if err := Check(path); !errors.Is(err, ErrForeignLink) {
			t.Errorf("check of %s: error %v", path, err)
		}
	}
	holds(t, secret, "root's")
	if left, _ := os.ReadDir(private); len(left) != 2 {
		t.Errorf("files left: %v", left)
	}
}

func TestLinksWhichTheKernelFollowsAreFollowed(t *testing.T) {
	dir := shared(t)
	for name, owners := range map[string][3]int{ // of link and directory; the directory's mode
		"own":                    {0, 0, 0o1777},
		"owner of the directory": {nobody, nobody, 0o1777},
		"not sticky":             {nobody, 0, 0o777},
		"not writable by all":    {nobody, 0, 0o1775},
	} {
		t.Run(name, func(t *testing.T) {
			sub := filepath.Join(dir, strings.ReplaceAll(name, " ", ""))
			target, link := filepath.Join(t.TempDir(), "target"), filepath.Join(sub, "link")
			must(t, errors.Join(os.Mkdir(sub, 0o700), os.Symlink(target, link), os.Lchown(link, owners[0], 0)))
			must(t, errors.Join(os.Chown(sub, owners[1], 0), unix.Chmod(sub, uint32(owners[2]))))
			for _, s := range []string{"first", "second"} {
				must(t, Check(link))
				must(t, Write(link, text(s)))
				holds(t, target, s)
			}
			if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
				t.Errorf("the link was replaced: %v, %v", st, err)
			}
		})
	}
}

func TestRelativeLinksAreResolvedFromTheirDirectory(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	must(t, os.Symlink("../b", filepath.Join(dir, "a", "link")))
	must(t, os.Symlink("a/link", filepath.Join(dir, "first")))
	t.Chdir(dir)
	must(t, Write("first", text("x")))
	holds(t, "b", "x")
	must(t, os.Symlink("loop", "loop"))
	if err := Write("loop", text("x")); !errors.Is(err, syscall.ELOOP) {
		t.Error(err)
	}
}

func TestPipesOfOtherUsersAndBlockDevicesAreRefused(t *testing.T) {
	dir := shared(t)
	pipe, disk := filepath.Join(dir, "pipe"), filepath.Join(dir, "disk")
	must(t, errors.Join(unix.Mkfifo(pipe, 0o666), os.Chown(pipe, nobody, nobody)))
	if err := Write(pipe, text("x")); !errors.Is(err, ErrForeignFile) {
		t.Errorf("pipe of another user: error %v", err)
	}
	// no driver has this device number: an open would fail with ENXIO
	err := unix.Mknod(disk, unix.S_IFBLK|0o600, int(unix.Mkdev(240, 7)))
	testtargets.Need(t, err == nil, "the right to make a device file", "CAP_MKNOD")
	for _, try := range []error{Write(disk, text("x")), Check(disk)} {
		if !errors.Is(try, ErrBlockDevice) {
			t.Errorf("block device: error %v, want %v", try, ErrBlockDevice)
		}
	}
}

func TestNewFilesAreTheUsersOnly(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "r")
	must(t, os.WriteFile(path, nil, 0o666))
	must(t, Write(path, text("x")))
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", st.Mode())
	}
}

func TestUnfinishedFileHasNoPredictableName(t *testing.T) {
	dir := t.TempDir()
	failed := errors.New("write failed")
	var names []string
	for range 2 {
		err := Write(filepath.Join(dir, "r"), func(w io.Writer) error {
			entries, err := os.ReadDir(dir)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return errors.Join(failed, err)
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
	}
	for _, n := range names {
		if len(n) < 32 || n == names[0] && len(names) == 2 && names[0] == names[1] {
			t.Errorf("the name %q can be guessed", n)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestLinkCreatedDuringAWriteIsReplacedAndNotFollowed(t *testing.T) {
	dir := t.TempDir()
	secret, path := filepath.Join(dir, "secret"), filepath.Join(dir, "r")
	must(t, os.WriteFile(secret, []byte("root's"), 0o600))
	must(t, Write(path, func(w io.Writer) error {
		return errors.Join(os.Symlink(secret, path), text("new")(w))
	}))
	holds(t, secret, "root's")
	holds(t, path, "new")
}

func TestStandardOutputIsNotReplaced(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	path := fmt.Sprint("/proc/self/fd/", w.Fd())
	if Replaceable(path) || Replaceable("-") || Replaceable("/dev/null") ||
		!Replaceable(filepath.Join(t.TempDir(), "new")) {
		t.Error("Replaceable is true for a pipe or device, or false for a new file")
	}
	must(t, Write(path, text("through the pipe")))
	must(t, w.Close())
	b, err := io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	if string(b) != "through the pipe" {
		t.Errorf("read %q, want what was written through the pipe", b)
	}
}

func TestScratchFilesHaveNoName(t *testing.T) {
	dir := t.TempDir()
	f, err := TempFile(dir)
	must(t, err)
	defer f.Close()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("files left: %v", left)
	}
	if _, err := f.WriteAt([]byte("x"), 5); err != nil {
		t.Error(err)
	}
	var b [6]byte
	if _, err := f.ReadAt(b[:], 0); err != nil || b[5] != 'x' {
		t.Errorf("read %q, %v; want an x at 5", b, err)
	}
}

func TestDirectoryIsReachedOverOwnAndRootsDirectoriesOnly(t *testing.T) {
	dir := shared(t) // sticky
	theirs, target := filepath.Join(dir, "theirs"), filepath.Join(t.TempDir(), "target")
	must(t, errors.Join(os.Mkdir(theirs, 0o755), os.Mkdir(filepath.Join(theirs, "mine"), 0o700), os.Mkdir(target, 0o700),
		os.Lchown(theirs, nobody, nobody)))
	foreign, own := filepath.Join(dir, "foreign"), filepath.Join(dir, "own")
	must(t, errors.Join(os.Symlink(target, foreign), os.Lchown(foreign, nobody, nobody), os.Symlink(target, own)))
	for path, want := range map[string]error{
		target: nil, own: nil, filepath.Join(own, "new", "newer"): nil, filepath.Join(dir, "new"): nil,
		filepath.Join(dir, "..", filepath.Base(dir), "new"): nil,
		dir: ErrShared, theirs: ErrShared, filepath.Join(theirs, "mine"): ErrShared, foreign: ErrShared,
		filepath.Join(foreign, "new"): ErrShared,
	} {
		d, err := OpenDirectory(path)
		if !errors.Is(err, want) || err != nil && want == nil {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err != nil {
			continue
		}
		must(t, d.Write("file", text("new")))
		holds(t, filepath.Join(path, "file"), "new")
		must(t, errors.Join(d.CheckWritable(), d.Remove("file"), d.Close()))
	}
	if _, err := os.Lstat(filepath.Join(target, "new", "newer")); err != nil {
		t.Error(err)
	}
}
