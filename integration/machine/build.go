// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets/bounded"
)

// Builder makes the machine's first file system. A failure ends the test.
type Builder struct {
	T    *testing.T
	Dir  string // temporary
	Arch string // as GOARCH
	Img  Image
	From map[string]string // files on this machine by their names in the other
}

// NewBuilder returns the builder of a file system that holds the directories which all jobs need, and a static busybox.
func NewBuilder(t *testing.T, arch, busybox string) *Builder {
	t.Helper()
	b := &Builder{T: t, Dir: t.TempDir(), Arch: arch, From: map[string]string{}}
	for _, dir := range []string{"bin", "dev", "programs", "tests", "proc", "sys", "tmp"} {
		b.Img.Directory(dir)
	}
	b.Img.Add("dev/console", ModeChar|0o600, 5, 1, nil)
	b.Put("bin/busybox", busybox)
	b.GoBuild("init", filepath.Join("..", ".."), "build", "./integration/machine/init")
	return b
}

// Run runs a command in a directory with additional variables of the environment.
func (b *Builder) Run(dir string, env []string, args ...string) {
	b.T.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := bounded.AllOutput(cmd); err != nil {
		b.T.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// Put copies a file into the machine.
func (b *Builder) Put(name, from string) {
	b.T.Helper()
	if err := b.Img.Copy(name, from); err != nil {
		b.T.Fatal(err)
	}
	b.From[name] = from
}

// Sysroot returns a directory with the machine's programs and libraries.
func (b *Builder) Sysroot() string {
	b.T.Helper()
	root := filepath.Join(b.Dir, "sysroot")
	for name, from := range b.From {
		if dir := filepath.Dir(name); dir != "programs" && dir != "lib" {
			continue
		}
		to := filepath.Join(root, name)
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			b.T.Fatal(err)
		}
	}
	return root
}

// GoBuild puts what a command of the Go tool, run in dir, writes: args are build, or test -c, and what follows.
func (b *Builder) GoBuild(name, dir string, args ...string) {
	b.T.Helper()
	out := filepath.Join(b.Dir, filepath.Base(name))
	args = append([]string{"go", args[0]}, append([]string{"-trimpath", "-o", out}, args[1:]...)...)
	b.Run(dir, []string{"GOARCH=" + b.Arch, "GOOS=linux", "CGO_ENABLED=0"}, args...)
	b.Put(name, out)
}

// Compile puts what a compiler of C or C++ makes.
func (b *Builder) Compile(compiler, name string, args ...string) {
	b.T.Helper()
	out := filepath.Join(b.Dir, filepath.Base(name))
	b.Run("", nil, append([]string{compiler, "-pthread", "-o", out}, args...)...)
	b.Put(name, out)
}

// Job is a command that the machine runs in a directory, for at most Limit.
type Job struct {
	Name  string
	Limit time.Duration
	Dir   string
	Args  []string // without spaces
}

// JobList is the text of the file /jobs.
func JobList(jobs []Job) []byte {
	var s strings.Builder
	for _, j := range jobs {
		s.WriteString(j.Name + " " + j.Limit.String() + " " + j.Dir + " " + strings.Join(j.Args, " ") + "\n")
	}
	return []byte(s.String())
}
