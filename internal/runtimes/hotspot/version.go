package hotspot

import (
	"fmt"
	"strconv"
	"strings"
)

// Version gives the machine's name and release: "HotSpot 17.0.15"; JDK 8 calls its machine 25, and the update is what
// follows that: "HotSpot 8u412". Only "HotSpot" where the tables do not say.
func (v *VM) Version() string {
	if v.version == "" {
		v.version = v.readVersion()
	}
	if v.version == "" {
		return name
	}
	return name + " " + v.version
}

const name = "HotSpot"

// readVersion gives the release.
func (v *VM) readVersion() string {
	m, l := v.memory(), v.layout
	at := l.static("Abstract_VM_Version::_s_vm_release")
	if at == 0 {
		return ""
	}
	release, _, _ := strings.Cut(m.name(m.word(at)), "+")
	release, _, _ = strings.Cut(release, "-")
	if strings.Trim(release, "0123456789.") != "" || m.failed {
		return ""
	}
	major, update, _ := strings.Cut(release, ".")
	// JDK 8 and JDK 25 both call themselves 25: only the former says where its version is.
	if is := l.static("JDK_Version::_current"); is != 0 && major == "25" {
		var b [1]byte
		if m.bytes(is+l.off("JDK_Version::_major"), b[:]); b[0] == 8 {
			update, _, _ = strings.Cut(update, ".")
			if n, err := strconv.Atoi(update); err == nil {
				return fmt.Sprintf("8u%d", n)
			}
			return "8"
		}
	}
	return release
}
