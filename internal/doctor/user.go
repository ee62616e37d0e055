package doctor

import (
	"fmt"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/process"
)

// user says as whom prywalk runs.
func (c *checkup) user() Finding {
	n := strconv.Itoa(c.self.UID[1])
	name := n
	if u, err := user.LookupId(n); err == nil {
		name = u.Username + " (" + n + ")"
	}
	return Finding{"user", OK, name, ""}
}

// wanted are the capabilities that make a difference, with what each is good for.
var wanted = []struct {
	bit  int
	name string
}{
	{unix.CAP_SYS_PTRACE, "sys_ptrace"},
	{unix.CAP_SYS_NICE, "sys_nice"},
	{unix.CAP_CHECKPOINT_RESTORE, "checkpoint_restore"},
	{unix.CAP_SYS_ADMIN, "sys_admin"},
	{unix.CAP_PERFMON, "perfmon"},
	{unix.CAP_BPF, "bpf"},
}

// capabilities (capabilities(7)): CAP_SYS_PTRACE decides whose processes can be
// looked at; the others have checks of their own.
func (c *checkup) capabilities() Finding {
	var have []string
	for _, w := range wanted {
		if c.self.Has(w.bit) {
			have = append(have, w.name)
		}
	}
	detail := "has " + strings.Join(have, ", ")
	if len(have) == 0 {
		detail = "has none"
	}
	if c.self.Has(unix.CAP_SYS_PTRACE) {
		return Finding{"capabilities", OK, detail, ""}
	}
	return Finding{"capabilities", Warn, detail + "; without sys_ptrace only processes of the same user can be looked at",
		c.grant("sys_ptrace")}
}

// grant says how prywalk gets a capability.
func (c *checkup) grant(name string) string {
	if c.root() {
		return "start the container with --cap-add=" + strings.ToUpper(name)
	}
	if c.self.NoNewPrivs {
		return "run prywalk outside of this sandbox (no_new_privs is set, so that neither sudo nor file capabilities work)"
	}
	caps := "cap_" + name // setcap replaces what the file has: name all
	for _, w := range wanted {
		if w.name != name && c.self.CapPrm>>w.bit&1 != 0 {
			caps += ",cap_" + w.name
		}
	}
	return "sudo setcap " + caps + "+ep \"$(command -v prywalk)\", or run prywalk as root"
}

// mapFiles: which capabilities follow /proc/PID/map_files (fs/proc/base.c,
// proc_map_files_get_link).
func (c *checkup) mapFiles() Finding {
	if c.self.Has(unix.CAP_SYS_ADMIN) || c.self.Has(unix.CAP_CHECKPOINT_RESTORE) {
		return Finding{"map_files", OK, "deleted and replaced files can be read", ""}
	}
	return Finding{"map_files", Warn,
		"libraries that were deleted or replaced are read from the target's memory: " +
			"stacks are complete, names may be missing",
		c.grant("checkpoint_restore")}
}

// yama: Documentation/admin-guide/LSM/Yama.rst.
func (c *checkup) yama() Finding {
	scope, ok := process.YamaScope(c.proc())
	if !ok {
		return Finding{"yama", OK, "not enforced by this kernel", ""}
	}
	detail := fmt.Sprintf("kernel.yama.ptrace_scope is %d", scope)
	switch {
	case scope >= 3:
		return Finding{"yama", Fail, detail + ": nobody can trace",
			"set it to 1 in /etc/sysctl.d and reboot; it cannot be lowered before"}
	case scope <= 0 || c.self.Has(unix.CAP_SYS_PTRACE):
		return Finding{"yama", OK, detail, ""}
	case scope == 1:
		return Finding{"yama", Warn, detail + ": only programs that prywalk starts itself can be looked at",
			"prywalk record -- COMMAND, or: " + c.command("sysctl kernel.yama.ptrace_scope=0")}
	}
	return Finding{"yama", Fail, detail + ": only CAP_SYS_PTRACE can trace", c.grant("sys_ptrace")}
}

// seccomp of prywalk itself.
func (c *checkup) seccomp() Finding {
	if c.self.Seccomp == 0 {
		return Finding{"seccomp", OK, "no filter on prywalk", ""}
	}
	return Finding{"seccomp", Warn, "prywalk runs under a filter, which may refuse its system calls",
		"if looks are refused: run it outside of the sandbox, or with --security-opt seccomp=unconfined"}
}

// container looks for the traces that container engines leave.
func (c *checkup) container() Finding {
	kind := ""
	for file, name := range map[string]string{".dockerenv": "Docker", "run/.containerenv": "Podman"} {
		if c.exists(file) {
			kind = name
		}
	}
	for _, name := range []string{"kubepods", "docker", "libpod", "containerd", "lxc"} {
		if kind == "" && strings.Contains(c.read("1/cgroup")+c.read("self/cgroup"), name) {
			kind = name
		}
	}
	if kind == "" {
		return Finding{"container", OK, "none seen", ""}
	}
	return Finding{"container", OK, "in a container (" + kind + "): it sees the processes of its own pid namespace", ""}
}
