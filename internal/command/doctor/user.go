// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/process"
)

func (c *checker) user() Finding {
	n := strconv.Itoa(int(c.system.self.UID[1]))
	name := n
	if u, err := user.LookupId(n); err == nil {
		name = u.Username + " (" + n + ")"
	}
	return finding(OK, name, "")
}

// capabilities(7): CAP_SYS_PTRACE decides which users' processes can be sampled; others have checks of their own.
func (c *checker) capabilities() Finding {
	var have []string
	for _, bit := range process.Capabilities {
		if c.system.self.Has(bit) {
			have = append(have, process.CapabilityName(bit))
		}
	}
	detail := "has " + strings.Join(have, ", ")
	if len(have) == 0 {
		detail = "has none"
	}
	mayTrace := c.system.self.Has(unix.CAP_SYS_PTRACE)
	if mayTrace && (c.system.self.Has(unix.CAP_DAC_READ_SEARCH) || c.system.self.Has(unix.CAP_DAC_OVERRIDE)) {
		return finding(OK, detail, "")
	}
	lost := "; without sys_ptrace and dac_read_search only processes of the same user can be sampled"
	if scope, _ := process.YamaScope(c.system.proc()); scope > 0 {
		lost += ", and those only as Yama allows"
	}
	if mayTrace {
		lost = "; without dac_read_search the sleeping threads of other users' processes are not sampled"
	}
	return c.granting(finding(Warn, detail+lost, ""), process.OtherUsers)
}

func (c *checker) granting(f Finding, bits uint64) Finding {
	switch {
	case c.system.root() || !c.system.self.MayGet(bits):
		f.Remedy = "in a container: start it with " + c.flags(bits)
		if c.system.self.NoNewPrivs && !c.system.root() {
			f.Remedy += "; in another sandbox: run prywalk outside of it"
		}
	case c.system.self.NoNewPrivs:
		f.Remedy = "run prywalk outside of this sandbox (no_new_privs is set: sudo and setcap have no effect)"
	default:
		f.Remedy, f.needsCaps = "run prywalk as root (sudo)", bits
	}
	return f
}

// flags are those of docker run and podman run. Docker gives the capabilities of --cap-add to root only.
func (c *checker) flags(bits uint64) string {
	var flags []string
	if !c.system.root() {
		flags = append(flags, "--user=0")
	}
	for _, bit := range process.Capabilities {
		if bits>>bit&1 != 0 && !c.system.self.Has(bit) {
			flags = append(flags, "--cap-add="+strings.ToUpper(process.CapabilityName(bit)))
		}
	}
	return strings.Join(flags, " ")
}

// nameCommands names no capability beyond the bounding set: a file that has it cannot be executed.
func (c *checker) nameCommands() {
	all := c.usefulCaps
	for i := range c.findings {
		all |= c.findings[i].needsCaps
	}
	all &^= c.system.self.Unreachable
	minimal := process.OtherUsers &^ c.system.self.Unreachable
	for i := range c.findings {
		f := &c.findings[i]
		if f.needsCaps == 0 {
			continue
		}
		f.Command = c.system.self.Grant(all)
		if all&minimal != 0 && all != minimal {
			f.minimalCommand = c.system.self.Grant(minimal)
		}
	}
}

// mapFiles: fs/proc/base.c, proc_map_files_get_link.
func (c *checker) mapFiles() Finding {
	if c.system.self.Has(unix.CAP_SYS_ADMIN) || c.system.self.Has(unix.CAP_CHECKPOINT_RESTORE) {
		return finding(OK, "deleted and replaced files can be read", "")
	}
	return c.granting(finding(Warn, "libraries that were deleted or replaced are read from the target's memory: "+
		"stacks are complete, names may be missing", ""), 1<<unix.CAP_CHECKPOINT_RESTORE)
}

// yama: Documentation/admin-guide/LSM/Yama.rst.
func (c *checker) yama() Finding {
	scope, ok := process.YamaScope(c.system.proc())
	if !ok {
		return finding(OK, "not enforced by this kernel", "")
	}
	detail := fmt.Sprintf("kernel.yama.ptrace_scope is %d", scope)
	switch {
	case scope >= 3:
		f := finding(Fail, detail+": tracing is disabled",
			"set it to 1 in /etc/sysctl.d and reboot; it cannot be lowered before")
		f.denied = true
		return f
	case scope <= 0 || c.system.self.Has(unix.CAP_SYS_PTRACE):
		return finding(OK, detail, "")
	case scope == 1:
		f := c.granting(finding(Warn, detail+": only programs that prywalk starts can be sampled", ""),
			1<<unix.CAP_SYS_PTRACE)
		f.Remedy += ", or start the program with: prywalk record -- COMMAND"
		return f
	}
	f := c.granting(finding(Fail, detail+": tracing requires CAP_SYS_PTRACE", ""), 1<<unix.CAP_SYS_PTRACE)
	f.denied = true
	return f
}

const seccompCheck = "seccomp"

func (c *checker) ownSeccomp() Finding {
	if c.system.self.Seccomp == 0 {
		return finding(OK, "no filter on prywalk", "")
	}
	return finding(Warn, "prywalk has a seccomp filter, which may deny its system calls",
		"if sampling fails: "+c.system.self.SeccompRemedy())
}

func (c *checker) filterAllowsTracing() {
	for i := range c.findings {
		if f := &c.findings[i]; f.Name == seccompCheck && f.Level == Warn {
			f.Level, f.Detail, f.Remedy = OK, "prywalk has a filter, which allows tracing", ""
		}
	}
}

// hostsPIDs is the link of /proc/PID/ns/pid in the first pid namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
const hostsPIDs = "pid:[4026531836]"

func (c *checker) container() Finding {
	kind, sees := "", "the processes of its own pid namespace only"
	for _, marker := range []struct{ file, name string }{{".dockerenv", "Docker"}, {"run/.containerenv", "Podman"}} {
		if kind == "" && c.system.exists(marker.file) {
			kind = marker.name
		}
	}
	for _, name := range []string{"kubepods", "docker", "libpod", "containerd", "lxc"} {
		if kind == "" && strings.Contains(c.system.read("1/cgroup")+c.system.read("self/cgroup"), name) {
			kind = name
		}
	}
	if kind == "" {
		return finding(OK, "none seen", "")
	}
	if link, _ := os.Readlink(filepath.Join(c.system.proc(), "self/ns/pid")); link == hostsPIDs {
		sees = "the host's processes, as it has the host's pid namespace"
	}
	return finding(OK, "prywalk runs in a container ("+kind+") and sees "+sees, "")
}
