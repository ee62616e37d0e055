// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// engine is a container engine as it is, with its own seccomp profile, capabilities and overlayfs. run precedes the
// flags of the command in docs/.
type engine struct {
	program, runtime string
	run              []string
	annotation       string // the flag that gives a container what Kubernetes' engines write of its pod
	data             string // of the engine; prywalk looks for names in it
	prefix           []string
}

func podmanGlobal(runtime string) []string {
	return []string{"--runtime", runtime, "--cgroup-manager=cgroupfs"}
}

// podmanLimits: where nested, Podman's own limits are over the caller's.
var podmanLimits = []string{"run", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none"}

const (
	podmanData = "/var/lib/containers/storage"
	dockerData = "/var/lib/docker"
)

var engines = []engine{
	{"podman", "runc", slices.Concat(podmanGlobal("runc"), podmanLimits), "--annotation", podmanData, nil},
	{"podman", "crun", slices.Concat(podmanGlobal("crun"), podmanLimits), "--annotation", podmanData, nil},
	{"docker", "runc", []string{"run", "--runtime", "runc", "--network", "none"}, "--label", dockerData, nil},
	{"docker", "crun", []string{"run", "--runtime", "crun", "--network", "none"}, "--label", dockerData, nil},
}

// onEachEngine runs a test with each container engine and runtime that is there.
func onEachEngine(t *testing.T, test func(*testing.T, engine)) {
	testtargets.OnlyInAll(t, "starts containers")
	needRoot(t, "start containers")
	for _, e := range engines {
		t.Run(e.program+" "+e.runtime, func(t *testing.T) {
			testtargets.NeedProgram(t, e.program)
			testtargets.NeedProgram(t, e.runtime)
			if e.runtime == "crun" {
				e.prefix = withoutHybrid(t)
			}
			if e.program == "docker" {
				e.startDocker(t)
			}
			// Docker of another machine's administrator may know runc only.
			out, err := bounded.AllOutput(e.command("info"))
			if err != nil {
				t.Logf("%s info: %v\n%s", e.program, err, out)
			}
			knows := e.program == "podman" || strings.Contains(string(out), e.runtime)
			testtargets.Need(t, err == nil && knows, e.program+" that answers and has "+e.runtime,
				"make test-all, as root (what it answers is logged before this line)")
			test(t, e)
		})
	}
}

func (e *engine) command(args ...string) *exec.Cmd {
	all := slices.Concat(e.prefix, []string{e.program}, args)
	return exec.Command(all[0], all[1:]...)
}

// withoutHybrid is the prefix of a command in a mount namespace with cgroups of one version, as crun needs them; nil
// where that is so everywhere.
func withoutHybrid(t *testing.T) (prefix []string) {
	t.Helper()
	const unified = "/sys/fs/cgroup/unified"
	if _, err := os.Stat(unified); err != nil {
		return nil
	}
	return mountNamespace(t, "umount "+unified)
}

// mountNamespace is the prefix of a command in a mount namespace of its own, in which a script changed the mounts.
func mountNamespace(t *testing.T, script string) (prefix []string) {
	t.Helper()
	holder := exec.Command("unshare", "--mount", "sh", "-ec", script+"; echo ready; exec sleep infinity")
	testtargets.Ready(t, holder)
	return []string{"nsenter", "--mount", "-t", strconv.Itoa(holder.Process.Pid)}
}

// startDocker starts Docker's engine, without networks and rules of packets, unless one answers.
func (e *engine) startDocker(t *testing.T, flags ...string) {
	t.Helper()
	if bounded.Run(e.command("info")) == nil {
		return
	}
	daemon := testtargets.NeedProgram(t, "dockerd")
	_, err := os.Stat(dockerData)
	testtargets.Need(t, errors.Is(err, fs.ErrNotExist), "Docker that answers, or no "+dockerData, "systemctl start docker")
	dir := scratch(t, nil)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/socket")
	args := []string{daemon, "--bridge=none", "--iptables=false", "--ip6tables=false", "--exec-root", dir + "/run",
		"--pidfile", dir + "/pid", "--host", os.Getenv("DOCKER_HOST")}
	if path, err := exec.LookPath("crun"); err == nil {
		args = append(args, "--add-runtime", "crun="+path)
	}
	args = slices.Concat(e.prefix, args, flags)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			if err := os.RemoveAll(dockerData); err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("dockerd has not ended %v after SIGTERM; %s is left", patience, dockerData)
		}
	})
	up := false
	eventually(t, "dockerd answers or ends", func() bool {
		up = bounded.Run(e.command("info")) == nil
		return up || len(ended) > 0
	})
	if !up {
		text, _ := os.ReadFile(log.Name())
		t.Logf("dockerd has ended:\n%s", text)
	}
	testtargets.Need(t, up, "a host on which Docker starts", "a host of its own (dockerd's log comes before this line)")
}

// image makes one of a program alone, as make dist does of prywalk.
func (e engine) image(t *testing.T, name, from, to, change string) {
	t.Helper()
	dir := t.TempDir()
	tar := filepath.Join(dir, "image.tar")
	t.Cleanup(func() { _ = bounded.Run(e.command("rmi", "-f", name)) })
	for _, args := range [][]string{
		{"install", "-D", from, filepath.Join(dir, "root", to)},
		{"tar", "-C", filepath.Join(dir, "root"), "-cf", tar, "."},
		e.command("import", "-c", change, tar, name).Args,
	} {
		if out, err := bounded.AllOutput(exec.Command(args[0], args[1:]...)); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// site has images of a server and of prywalk.
type site struct {
	t               *testing.T
	e               engine
	dir             string
	server, prywalk string // images
}

func (e engine) site(t *testing.T) site {
	t.Helper()
	dir := scratch(t, nil)
	images := "localhost/" + strings.ToLower("prywalk-"+filepath.Base(dir))
	s := site{t, e, dir, images + "-server:1", images + ":1"}
	e.image(t, s.server, serverProgram(t), "app/server", `CMD ["/app/server"]`)
	e.image(t, s.prywalk, binary, "usr/bin/prywalk", `ENTRYPOINT ["/usr/bin/prywalk"]`)
	return s
}

func (s *site) run(args ...string) result {
	s.t.Helper()
	all := s.e.command(append(slices.Clone(s.e.run), args...)...).Args
	return command{exe: all[0], args: all[1:], dir: s.dir}.run(s.t)
}

// start runs the server in a container of that name until it computes, and returns the container's id.
func (s *site) start(name string, flags ...string) (id string) {
	s.t.Helper()
	s.t.Cleanup(func() { _ = bounded.Run(s.e.command("rm", "-f", name)) })
	r := s.run(append(append([]string{"-d", "--name", name}, flags...), s.server)...).must(s.t, 0)
	pid := s.inspected(name)
	eventually(s.t, "the server computes", func() bool {
		return strings.Contains(prywalk(s.t, "dump", "-p", pid).must(s.t, 0).stdout, " computes in ")
	})
	return strings.TrimSpace(r.stdout)
}

// inspected runs the command of docs/rights.md that gives a container's PID on the host.
func (s *site) inspected(name string) (pid string) {
	s.t.Helper()
	out, err := bounded.Output(s.e.command("inspect", "-f", "{{.State.Pid}}", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (r result) has(t *testing.T, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stdout+r.stderr, w) {
			t.Errorf("no %q in %s%s", w, clip(r.stdout), clip(r.stderr))
		}
	}
}

func serverProgram(t *testing.T) string {
	const source = "testdata/threads.c"
	return testtargets.Compiled{Name: "server", Sources: []string{source},
		Command: []string{"cc", "-O1", "-static", "-pthread", "-o", "OUT", source}}.Build(t)
}
