// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"os/exec"
)

// BuildPrywalk compiles prywalk into a file, as make does: without cgo. The working directory must be in the module.
func BuildPrywalk(file string) error {
	build := exec.Command("go", "build", "-trimpath", "-o", file, "prywalk/cmd/prywalk")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building prywalk: %w\n%s", err, out)
	}
	return nil
}
