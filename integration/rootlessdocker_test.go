// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// rootlessScript is that of Debian's docker.io.
const rootlessScript = "/usr/share/docker.io/contrib/dockerd-rootless.sh"

// usersHost gives a user further ids, and the device of the engine's network the mode that udev gives it.
const usersHost = `for f in /etc/subuid /etc/subgid; do mount --bind '%s' $f; done
mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200`

// rootlessDocker is the engine as an ordinary user starts it, with a range of further ids.
func rootlessDocker(t *testing.T) (e engine, dir string) {
	t.Helper()
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "be another user")
	for _, name := range []string{"docker", "dockerd", "runc", "rootlesskit", "newuidmap", "slirp4netns"} {
		testtargets.NeedProgram(t, name)
	}
	_, err := os.Stat(rootlessScript)
	testtargets.Need(t, err == nil, rootlessScript, testtargets.SetUp)
	needUserNamespaces(t, testtargets.Nobody)
	ranges := filepath.Join(scratch(t, nil), "ranges")
	if err := os.WriteFile(ranges, []byte("nobody:200000:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir = scratch(t, testtargets.Nobody)
	owner := fmt.Sprintf("%d:%d", testtargets.Nobody.UID, testtargets.Nobody.GID)
	mustRun(t, []string{"install", "-d", "-m", "0700", dir + "/run"}, []string{"chown", owner, dir + "/run"})
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/run/docker.sock")
	asUser := []string{"setpriv", fmt.Sprintf("--reuid=%d", testtargets.Nobody.UID),
		fmt.Sprintf("--regid=%d", testtargets.Nobody.GID), "--clear-groups", "env", "HOME=" + dir,
		"XDG_RUNTIME_DIR=" + dir + "/run", "PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin"}
	e = engine{program: "docker", runtime: "runc", run: []string{"run", "--network", "none"},
		prefix: slices.Concat(mountNamespace(t, fmt.Sprintf(usersHost, ranges)), asUser)}
	e.startRootless(t, dir)
	return e, dir
}

func (e *engine) startRootless(t *testing.T, dir string) {
	t.Helper()
	log, err := os.Create(filepath.Join(scratch(t, nil), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	args := append(slices.Clone(e.prefix), rootlessScript, "--bridge=none", "--iptables=false", "--ip6tables=false")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("rootless dockerd has not ended %v after SIGTERM", patience)
		}
	})
	up := false
	eventually(t, "rootless dockerd answers or ends", func() bool {
		up = bounded.Run(e.command("info")) == nil
		return up || len(ended) > 0
	})
	if !up {
		text, _ := os.ReadFile(log.Name())
		t.Logf("rootless dockerd has ended:\n%s", text)
	}
	testtargets.Need(t, up, "a host on which rootless Docker starts", "a host of its own (its log comes before this line)")
}

// load brings prywalk's image by a file: the engine's network has no way to this machine's loopback address.
func (e engine) load(t *testing.T) (image string) {
	t.Helper()
	image = pushed(t)
	dir, err := released()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(scratch(t, nil), "image.tar")
	mustRun(t, []string{filepath.Join(dir, "crane"), "pull", image, file}, e.command("load", "-i", file).Args)
	return image
}

func TestContainerOfRootlessDockerIsSampledByItsUser(t *testing.T) {
	e, home := rootlessDocker(t)
	s := site{t, e, scratch(t, nil), "localhost/server:1", e.load(t)}
	e.image(t, s.server, serverProgram(t), "/app/server")
	name := "prywalk-" + filepath.Base(s.dir)
	s.start(name)
	pid := s.inspected(name)
	user := func(args ...string) result {
		return command{args: args, user: testtargets.Nobody, dir: home}.run(t)
	}
	checkOwner(t, user("doctor", "-p", pid).must(t, 0))
	for _, run := range []func(...string) result{user, func(args ...string) result { return prywalk(t, args...) }} {
		namesOf(t, run("dump", "--json", "-p", pid).must(t, 0).stdout)
		run("record", "-p", pid, "-d", "1", "-o", "r.pb.gz").must(t, 0)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"dump", "-n", "server"}, " computes in /app/server"},
		{[]string{"doctor", "-p", "1"}, "own pid namespace only"},
	} {
		r := s.run(slices.Concat([]string{"--rm", "--pid=container:" + name, "--cap-add=SYS_PTRACE", s.prywalk}, c.args)...)
		r.must(t, 0).has(t, c.want)
	}
	groups, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("by name", func(t *testing.T) {
		testtargets.Need(t, strings.Contains(string(groups), "docker"), "a control group of each container",
			"cgroup v2 with systemd, which gives the user groups of their own")
		namesOf(t, user("dump", "--json", "--container", name).must(t, 0).stdout)
	})
}
