// SPDX-License-Identifier: Apache-2.0

package view

import "prywalk/internal/namehints"

const ofKernel = "[kernel]"

// IsSupport reports a function of language or system, not of the program.
func (f *Frame) IsSupport() bool { return f.support() == 1 }

// support returns 1 for functions of language and system, 0 for the program's.
func (f *Frame) support() int {
	if f.Synthetic() || f.Module == ofKernel || namehints.Support(f.Name, f.Module) {
		return 1
	}
	return 0
}
