// SPDX-License-Identifier: Apache-2.0

package arm64

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type builder struct {
	t    *testing.T
	dir  string
	img  cpio
	from map[string]string
}

const (
	gcc = "aarch64-linux-gnu-gcc"
	gxx = "aarch64-linux-gnu-g++"
)

func (b *builder) run(dir string, env []string, args ...string) {
	b.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (b *builder) put(name, from string) {
	b.t.Helper()
	if err := b.img.copy(name, from); err != nil {
		b.t.Fatal(err)
	}
	if b.from == nil {
		b.from = map[string]string{}
	}
	b.from[name] = from
}

func (b *builder) sysroot() string {
	b.t.Helper()
	root := filepath.Join(b.dir, "sysroot")
	for name, from := range b.from {
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
			b.t.Fatal(err)
		}
	}
	return root
}

func (b *builder) goBuild(name, dir string, args ...string) {
	b.t.Helper()
	out := filepath.Join(b.dir, filepath.Base(name))
	args = append([]string{"go", args[0]}, append([]string{"-trimpath", "-o", out}, args[1:]...)...)
	b.run(dir, []string{"GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0"}, args...)
	b.put(name, out)
}

func (b *builder) cc(name string, args ...string) {
	b.t.Helper()
	b.compile(gcc, name, args)
}

func (b *builder) cxx(name string, args ...string) {
	b.t.Helper()
	b.compile(gxx, name, args)
}

func (b *builder) compile(compiler, name string, args []string) {
	b.t.Helper()
	out := filepath.Join(b.dir, filepath.Base(name))
	b.run("", nil, append([]string{compiler, "-pthread", "-o", out}, args...)...)
	b.put(name, out)
}

type job struct {
	name  string
	limit time.Duration
	dir   string
	args  []string
}

func jobList(jobs []job) []byte {
	var s strings.Builder
	for _, j := range jobs {
		s.WriteString(j.name + " " + j.limit.String() + " " + j.dir + " " + strings.Join(j.args, " ") + "\n")
	}
	return []byte(s.String())
}
