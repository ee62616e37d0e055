// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// containerdAlone is containerd without another engine, with its state in a /run of its own.
type containerdAlone struct {
	t      *testing.T
	dir    string
	prefix []string // of commands that see its state
}

func startContainerd(t *testing.T) containerdAlone {
	t.Helper()
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	for _, name := range []string{"containerd", "ctr", "runc"} {
		testtargets.NeedProgram(t, name)
	}
	c := containerdAlone{t, scratch(t, nil), mountNamespace(t, "mount -t tmpfs tmpfs /run")}
	testtargets.Child(t, c.command("containerd", "--root", filepath.Join(c.dir, "containerd"), "--log-level", "error"))
	eventually(t, "containerd answers", func() bool { return bounded.Run(c.command("ctr", "version")) == nil })
	return c
}

func (c containerdAlone) command(args ...string) *exec.Cmd {
	all := slices.Concat(c.prefix, args)
	return exec.Command(all[0], all[1:]...)
}

func (c containerdAlone) run(args ...string) result {
	c.t.Helper()
	all := c.command(args...).Args
	return command{exe: all[0], args: all[1:], dir: c.dir}.run(c.t)
}

func (c containerdAlone) prywalk(args ...string) result {
	c.t.Helper()
	return c.run(append([]string{binary}, args...)...)
}

// start runs the server in a container of that name until it computes, and returns its PID.
func (c containerdAlone) start(name string) (pid string) {
	c.t.Helper()
	rootfs := filepath.Join(c.dir, "root-"+name)
	mustRun(c.t, []string{"install", "-D", serverProgram(c.t), filepath.Join(rootfs, "app/server")})
	c.t.Cleanup(func() {
		_ = bounded.Run(c.command("ctr", "tasks", "rm", "--force", name))
		_ = bounded.Run(c.command("ctr", "containers", "rm", name))
	})
	c.run("ctr", "run", "--detach", "--rootfs", rootfs, name, "/app/server").must(c.t, 0)
	for line := range strings.Lines(c.run("ctr", "tasks", "ls").must(c.t, 0).stdout) {
		if fields := strings.Fields(line); fields[0] == name {
			pid = fields[1]
		}
	}
	if _, err := strconv.Atoi(pid); err != nil {
		c.t.Fatalf("the task of %s has no PID: %q", name, pid)
	}
	eventually(c.t, "the server computes", func() bool {
		return strings.Contains(prywalk(c.t, "dump", "-p", pid).must(c.t, 0).stdout, " computes in ")
	})
	return pid
}

// An id of ctr's is the name that it was given.
func TestContainersOfContainerdAloneAreSelectedByName(t *testing.T) {
	c := startContainerd(t)
	name := "prywalk-test-" + filepath.Base(c.dir)
	pid := c.start(name)
	other := c.start("b-" + name)
	for _, selection := range [][]string{{"-p", pid}, {"-p", other}, {"--container", name}} {
		namesOf(t, c.prywalk(append([]string{"dump", "--json"}, selection...)...).must(t, 0).stdout)
	}
	one, all := filepath.Join(c.dir, "one.pb.gz"), filepath.Join(c.dir, "all.pb.gz")
	c.prywalk("record", "--container", name, "-d", "1", "-o", one).must(t, 0)
	for _, sample := range readProfile(t, one).Sample {
		if sample.Label["container.id"][0] != name || sample.Label["container.name"][0] != name {
			t.Fatalf("labels %v", sample.Label)
		}
	}
	c.prywalk("record", "-a", "--match", "^server$", "-d", "1", "-o", all).must(t, 0)
	table := c.prywalk("report", "--by", "label:container.name", "--value", "wall", all).must(t, 0).stdout
	for _, word := range []string{" " + name, " b-" + name} {
		if !strings.Contains(table, word) {
			t.Errorf("the groups lack %q:\n%s", word, table)
		}
	}
	c.prywalk("dump", "--container", "no-such-name").must(t, 1).has(t, name+" (", "b-"+name+" (")
}

func TestNeighbourInAContainerOfContainerdAlone(t *testing.T) {
	c := startContainerd(t)
	name := "prywalk-test-" + filepath.Base(c.dir)
	pid := c.start(name)
	dir, err := released()
	if err != nil {
		t.Fatal(err)
	}
	image, file := "localhost/prywalk:1", filepath.Join(c.dir, "image.tar")
	mustRun(t, []string{"tar", "-C", filepath.Join(dir, "dist/oci"), "-cf", file, "."},
		c.command("ctr", "images", "import", "--no-unpack", "--index-name", image, file).Args)
	beside := func(flags []string, args ...string) result {
		t.Helper()
		return c.run(slices.Concat([]string{"ctr", "run", "--rm", "--with-ns", "pid:/proc/" + pid + "/ns/pid"}, flags,
			[]string{image, "beside-" + name, "/usr/bin/prywalk"}, args)...)
	}
	ptrace := []string{"--cap-add", "CAP_SYS_PTRACE"}
	beside(ptrace, "dump", "-n", "server").must(t, 0).has(t, " main in /app/server", " computes in /app/server")
	beside(ptrace, "record", "-n", "server", "-d", "1", "-o", "/server.pb.gz").must(t, 0)
	beside(nil, "doctor", "-p", "1").must(t, 0).has(t, "start it with --cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH")
}
