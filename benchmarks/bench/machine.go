// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"

	"prywalk/benchmarks/machine"
)

func thisMachine(version string) Machine {
	return Machine{Processors: runtime.NumCPU(), Prywalk: version, Model: machine.CPUModel(), Kernel: machine.Kernel(),
		Load: machine.Load()}
}
