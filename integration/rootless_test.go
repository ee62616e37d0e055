// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The capabilities of a process in a namespace below are no more than those of the namespace's owner.
func TestOwnerOfAUserNamespaceMaySampleInIt(t *testing.T) {
	t.Parallel()
	needRoot(t, "be another user")
	dir := scratch(t, testtargets.Nobody)
	needUserNamespaces(t, testtargets.Nobody)
	cmd := exec.Command("unshare", "--user", "--map-root-user", "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: testtargets.Nobody.UID, Gid: testtargets.Nobody.GID}}
	testtargets.Talk(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	eventually(t, "the target runs", func() bool {
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return string(name) == "cat\n"
	})
	run := func(args ...string) result { return command{args: args, user: testtargets.Nobody, dir: dir}.run(t) }
	checkOwner(t, run("doctor", "-p", pid).must(t, 0))
	run("dump", "-p", pid).must(t, 0)
}

func checkOwner(t *testing.T, r result) {
	t.Helper()
	for _, want := range []string{"with the same owner: all is allowed in it", "capabilities    no restriction"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q:\n%s%s", want, r.stdout, r.stderr)
		}
	}
}

// rootless is podman as a user without ranges of further ids: in the container only that user's id is mapped.
func rootless(t *testing.T, runtime string) (podman func(args ...string) result, root string) {
	t.Helper()
	dir := scratch(t, testtargets.Nobody)
	root = filepath.Join(dir, "root")
	for _, name := range []string{"proc", "sys", "dev", "etc", "tmp", "run", "app"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	server := serverProgram(t)
	for _, args := range [][]string{{"install", server, root + "/app/server"}, {"install", binary, root + "/prywalk"},
		{"install", "-d", "-m", "0700", dir + "/run"},
		{"chown", "-R", fmt.Sprintf("%d:%d", testtargets.Nobody.UID, testtargets.Nobody.GID), dir}} {
		if out, err := bounded.AllOutput(exec.Command(args[0], args[1:]...)); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	var prefix []string
	if runtime == "crun" {
		prefix = withoutHybrid(t)
	}
	asUser := []string{"setpriv", fmt.Sprintf("--reuid=%d", testtargets.Nobody.UID),
		fmt.Sprintf("--regid=%d", testtargets.Nobody.GID), "--clear-groups", "env", "HOME=" + dir,
		"XDG_RUNTIME_DIR=" + dir + "/run"}
	podman = func(args ...string) result {
		all := slices.Concat(prefix, asUser, []string{"podman", "--log-level=error"}, podmanGlobal(runtime), args)
		return command{exe: all[0], args: all[1:], dir: dir}.run(t)
	}
	return podman, root
}

func TestRootlessContainerIsSampledByItsUser(t *testing.T) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "be another user")
	testtargets.NeedProgram(t, "podman")
	needUserNamespaces(t, testtargets.Nobody)
	for _, runtime := range []string{"runc", "crun"} {
		t.Run(runtime, func(t *testing.T) {
			testtargets.NeedProgram(t, runtime)
			rootlessIsSampled(t, runtime)
		})
	}
}

func rootlessIsSampled(t *testing.T, runtime string) {
	podman, root := rootless(t, runtime)
	info := podman("info")
	if info.code != 0 {
		t.Log(info.stderr)
	}
	testtargets.Need(t, info.code == 0, "Podman that answers an ordinary user",
		"setpriv --reuid nobody --clear-groups podman info (its error is logged before this line)")
	run := func(args ...string) result { return podman(slices.Concat(podmanLimits, args)...) }
	defer podman("system", "reset", "--force")
	defer podman("rm", "-f", "-t", "0", "server")
	run("-d", "--name", "server", "--rootfs", root, "/app/server").must(t, 0)
	pid := strings.TrimSpace(podman("inspect", "-f", "{{.State.Pid}}", "server").must(t, 0).stdout)

	dir := scratch(t, testtargets.Nobody)
	outside := func(args ...string) result { return command{args: args, user: testtargets.Nobody, dir: dir}.run(t) }
	checkOwner(t, outside("doctor", "-p", pid).must(t, 0))
	namesOf(t, outside("dump", "--json", "-p", pid).must(t, 0).stdout)
	outside("record", "-p", pid, "-d", "1", "-o", "r.pb.gz").must(t, 0)

	neighbour := []string{"--rm", "--pid=container:server", "--cap-add=SYS_PTRACE", "--rootfs", root, "/prywalk"}
	r := run(append(neighbour, "dump", "-n", "server")...).must(t, 0)
	for _, want := range []string{" main in /app/server", " computes in /app/server"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in the neighbour's dump: %s", want, r.stdout)
		}
	}
}
