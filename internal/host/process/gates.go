// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Gate is one of the kernel's checks (ptrace(2), "Ptrace access mode checking").
type Gate struct {
	Name    string // such as "user" or "yama"
	OK      bool   // as far as can be seen
	Unknown bool   // OK is a guess: the check's input is unreadable
	Detail  string
	Remedy  string // smallest step that helps
	Command string // a command for that step, or ""
	Needs   uint64 // capabilities that Command adds by setcap, or 0
}

// Next returns remedy and command in one text.
func (g *Gate) Next() string {
	command := g.Command
	if g.Needs != 0 {
		command += " (restrict who may run it: prywalk help rights)"
	}
	switch {
	case command == "":
		return g.Remedy
	case g.Remedy == "":
		return "run: " + command
	}
	return g.Remedy + ", or: " + command
}

type gateChecker struct {
	proc   procRoot
	pid    int
	self   *Status
	target *Status
}

// Gates evaluates the checks in the kernel's order (kernel/ptrace.c, ptrace_attach), but dumpable after capabilities.
// root is proc's mount point. The error is an [*Error] if there is no such process.
func Gates(root string, pid int) ([]Gate, error) {
	g, err := newGateChecker(procRoot(root), pid)
	if err != nil {
		return nil, err
	}
	return g.all(), nil
}

func newGateChecker(p procRoot, pid int) (*gateChecker, error) {
	t, err := p.status(pid)
	if err != nil {
		return nil, err
	}
	self, err := ReadSelf(string(p))
	if err != nil {
		return nil, err
	}
	return &gateChecker{proc: p, pid: pid, self: self, target: t}, nil
}

func (g *gateChecker) all() []Gate {
	return []Gate{
		g.user(), g.capabilities(), g.dumpable(), g.namespace(), g.yama(), g.tracer(), g.files(), g.seccomp(),
	}
}

func (g *gateChecker) privileged() bool { return g.self.Has(unix.CAP_SYS_PTRACE) || g.ownsNamespace() }

// ownsNamespace: the owner of a user namespace, as of a rootless container, has all capabilities in it
// (user_namespaces(7)). Those below the initial one are below prywalk's.
func (g *gateChecker) ownsNamespace() bool {
	f, err := os.Open(g.proc.path(g.pid, "ns/user"))
	if err != nil {
		return false
	}
	defer f.Close()
	owner, err := unix.IoctlGetInt(int(f.Fd()), unix.NS_GET_OWNER_UID)
	own, _ := os.Readlink(filepath.Join(string(g.proc), "self", "ns", "user"))
	its, _ := os.Readlink(g.proc.path(g.pid, "ns/user"))
	return err == nil && own != its && uint32(owner) == g.self.UID[1] && g.initialNamespace()
}

// withCapabilities adds how prywalk gets capabilities. INVOCATION_ID is set in units (systemd.exec(5)), and inherited.
func (g *gateChecker) withCapabilities(gate Gate, needs uint64) Gate {
	inUnit := os.Getenv("INVOCATION_ID") != ""
	unit := "give the unit AmbientCapabilities=" + strings.ToUpper(strings.Join(grantedNames(needs), " ")) +
		", and its CapabilityBoundingSet, if it has one"
	switch {
	case g.self.UID[1] == 0 || !g.self.MayGet(needs):
		name := "SYS_PTRACE"
		if g.privileged() {
			name = "DAC_READ_SEARCH"
		}
		gate.Remedy = "in a container, give the capability: --cap-add=" + name + " (Docker, Podman), " +
			"or " + name + " in the securityContext's capabilities (Kubernetes)"
		if g.self.UID[1] != 0 {
			gate.Remedy += ", and run prywalk as root of the container (--user=0; runAsUser: 0)"
			if g.self.NoNewPrivs {
				gate.Remedy += "; in another sandbox, run prywalk outside of it"
			}
		}
		if inUnit {
			gate.Remedy = "in a unit of systemd, " + unit + "; " + gate.Remedy
		}
	case g.self.NoNewPrivs && inUnit:
		gate.Remedy = unit
	case g.self.NoNewPrivs:
		gate.Remedy = "run prywalk as root, outside of this sandbox (no_new_privs is set: sudo and setcap have no effect)"
	default:
		gate.Remedy, gate.Needs = "run prywalk as root (sudo)", needs
		gate.Command = g.self.Grant(needs)
	}
	return gate
}

// files: CAP_SYS_PTRACE does not override the mode of /proc/PID/syscall.
func (g *gateChecker) files() Gate {
	gate := Gate{Name: "proc files", OK: true, Detail: "no restriction"}
	f, err := os.Open(g.proc.path(g.pid, "syscall"))
	if err == nil {
		f.Close()
		return gate
	}
	if !errors.Is(err, os.ErrPermission) || !g.privileged() && !g.sameUser() {
		return gate
	}
	return g.withCapabilities(Gate{
		Name: "proc files",
		Detail: fmt.Sprintf("the kernel lets prywalk trace it, but not read %s, which belongs to another user: "+
			"threads that sleep are not sampled", g.proc.path(g.pid, "syscall")),
	}, OtherUsers)
}

func (g *gateChecker) tracer() Gate {
	t := g.target.TracerPid // of a thread
	s, err := g.proc.status(t)
	if t == 0 || t == g.self.PID || err == nil && s.Tgid == g.self.Tgid {
		return Gate{Name: "tracer", OK: true, Detail: "not traced"}
	}
	name := ""
	if err == nil {
		name = " (" + s.Name + ")"
	}
	return Gate{
		Name:   "tracer",
		Detail: fmt.Sprintf("already traced by process %d%s", t, name),
		Remedy: "detach that debugger or tracer",
	}
}

// user: the tracer's real ids must equal all of the target's.
func (g *gateChecker) user() Gate {
	s, t := g.self, g.target
	owner := userName(t.UID[1])
	switch {
	case g.sameUser():
		return Gate{Name: "user", OK: true, Detail: "same user (" + owner + ")"}
	case g.self.Has(unix.CAP_SYS_PTRACE):
		return Gate{Name: "user", OK: true, Detail: "runs as " + owner + "; CAP_SYS_PTRACE allows it"}
	case g.privileged():
		return Gate{Name: "user", OK: true, Detail: "runs as " + owner + ", in a user namespace that prywalk's user owns"}
	}
	detail, remedy := fmt.Sprintf("it runs as %s, prywalk as %s", owner, userName(s.UID[0])), "as that user"
	if t.UID == [4]uint32{s.UID[0], s.UID[0], s.UID[0], t.UID[3]} {
		i := slices.IndexFunc(t.GID[:3], func(gid uint32) bool { return gid != s.GID[0] })
		detail = fmt.Sprintf("it runs with %s, prywalk with %s", groupName(t.GID[i]), groupName(s.GID[0]))
		remedy = "with that group"
	} else if t.UID[1] == s.UID[0] {
		detail, remedy = fmt.Sprintf("its real or saved user is not its effective one, %s", owner), ""
	}
	gate := g.withCapabilities(Gate{Name: "user", Detail: detail}, OtherUsers)
	switch {
	case gate.Command == "":
	case remedy == "":
		gate.Remedy = "run prywalk as root"
	default:
		gate.Remedy = "run prywalk " + remedy + " or as root"
	}
	return gate
}

func (g *gateChecker) sameUser() bool {
	same := true
	for i := range 3 {
		same = same && g.target.UID[i] == g.self.UID[0] && g.target.GID[i] == g.self.GID[0]
	}
	return same
}

func groupName(gid uint32) string {
	n := strconv.Itoa(int(gid))
	if g, err := user.LookupGroupId(n); err == nil {
		return "group " + g.Name
	}
	return "group " + n
}

func userName(uid uint32) string {
	n := strconv.Itoa(int(uid))
	if u, err := user.LookupId(n); err == nil {
		return "user " + u.Username
	}
	return "user " + n
}

// capabilities: a target with more capabilities than the tracer is denied (security/commoncap.c,
// cap_ptrace_access_check).
func (g *gateChecker) capabilities() Gate {
	if more := g.target.CapPrm &^ g.self.CapPrm; more != 0 && g.sameUser() && !g.privileged() {
		return g.withCapabilities(Gate{
			Name:   "capabilities",
			Detail: "it has capabilities that prywalk lacks: " + capabilityList(more),
		}, OtherUsers)
	}
	return Gate{Name: "capabilities", OK: true, Detail: "no restriction"}
}

// dumpable: the /proc files of a non-dumpable process belong to root (fs/proc/base.c, task_dump_owner).
func (g *gateChecker) dumpable() Gate {
	var st unix.Stat_t
	err := unix.Stat(g.proc.path(g.pid, "stat"), &st)
	if err != nil || g.privileged() || g.target.UID[1] == 0 || st.Uid == g.target.UID[1] {
		return Gate{Name: "dumpable", OK: true, Detail: "no restriction"}
	}
	return g.withCapabilities(Gate{
		Name: "dumpable",
		Detail: "the process is not dumpable: it changed its user, its binary has file capabilities or is not readable, " +
			"or it called prctl(PR_SET_DUMPABLE)",
	}, OtherUsers)
}

// namespace: capabilities are valid in the own user namespace and those below.
func (g *gateChecker) namespace() Gate {
	own, err1 := os.Readlink(filepath.Join(string(g.proc), "self", "ns", "user"))
	its, err2 := os.Readlink(g.proc.path(g.pid, "ns/user"))
	switch {
	case err1 != nil || err2 != nil && (g.initialNamespace() || !g.privileged()):
		return Gate{Name: "user namespace", OK: true, Unknown: true,
			Detail: "not known: " + g.proc.path(g.pid, "ns/user") + " cannot be read"}
	case err2 == nil && own == its:
		return Gate{Name: "user namespace", OK: true, Detail: "the same"}
	case err2 == nil && g.ownsNamespace():
		return Gate{Name: "user namespace", OK: true,
			Detail: "a child of prywalk's, with the same owner: all is allowed in it"}
	case err2 == nil && g.initialNamespace():
		return Gate{Name: "user namespace", OK: true, Detail: "a child of prywalk's"}
	}
	return Gate{
		Name:   "user namespace",
		Detail: "it runs in another user namespace (container)",
		Remedy: "run prywalk in that container, or outside of all containers",
	}
}

func (g *gateChecker) initialNamespace() bool {
	text, err := os.ReadFile(filepath.Join(string(g.proc), "self", "uid_map"))
	f := strings.Fields(string(text))
	return err != nil || len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == "4294967295"
}

// YamaScope reads kernel.yama.ptrace_scope; false, meaning 0, if it is unreadable. root is proc's mount point.
func YamaScope(root string) (int, bool) {
	text, err := os.ReadFile(filepath.Join(root, "sys/kernel/yama/ptrace_scope"))
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}

func (g *gateChecker) yama() Gate {
	scope, ok := YamaScope(string(g.proc))
	needs := OtherUsers
	if g.sameUser() {
		needs = 1 << unix.CAP_SYS_PTRACE
	}
	gate := Gate{Name: "yama", OK: true, Detail: fmt.Sprintf("ptrace_scope is %d", scope)}
	switch {
	case !ok:
		gate.Detail = "not enforced by this kernel"
	case scope <= 0:
	case scope >= 3:
		gate.OK = false
		gate.Detail = "Yama forbids all tracing (kernel.yama.ptrace_scope is 3)"
		gate.Remedy = "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot; it cannot be lowered before"
	case g.self.Has(unix.CAP_SYS_PTRACE):
		gate.Detail += "; CAP_SYS_PTRACE allows it"
	case g.privileged():
		gate.Detail += "; the process is in a user namespace of prywalk's user, which allows it"
	case scope == 1 && g.descendant():
		gate.Detail += "; prywalk started it"
	case scope == 1:
		gate.OK = false
		gate.Detail = "Yama requires CAP_SYS_PTRACE for a process that prywalk did not start " +
			"(kernel.yama.ptrace_scope is 1)"
		gate = g.withCapabilities(gate, needs)
		gate.Remedy += ", or start it with: prywalk record -- COMMAND"
	default:
		gate.OK = false
		gate.Detail = "Yama requires CAP_SYS_PTRACE (kernel.yama.ptrace_scope is 2)"
		gate = g.withCapabilities(gate, needs)
	}
	return gate
}

func (g *gateChecker) descendant() bool {
	s := g.target
	for range 64 {
		if s.PPid == g.self.Tgid {
			return true
		}
		if s.PPid <= 1 {
			return false
		}
		next, err := g.proc.status(s.PPid)
		if err != nil {
			return false
		}
		s = next
	}
	return false
}

func (g *gateChecker) seccomp() Gate {
	if g.self.Seccomp == 0 {
		return Gate{Name: "seccomp", OK: true, Detail: "no filter on prywalk"}
	}
	return Gate{Name: "seccomp", OK: true,
		Detail: "prywalk has a seccomp filter, which may deny ptrace or process_vm_readv"}
}
