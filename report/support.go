package report

import "prywalk/internal/namehints"

// ofKernel is the module of the kernel's functions.
const ofKernel = "[kernel]"

// support tells functions of the language and the system (1) from those of the program (0).
func (f *frame) support() int {
	if f.synthetic() || f.module == ofKernel || namehints.Support(f.name, f.module) {
		return 1
	}
	return 0
}
