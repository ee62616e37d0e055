// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
)

// selfFile starts this very program, also after its file was replaced. The kernel names such a process exe.
const selfFile = "/proc/self/exe"

// selfPath is for a process whose name is shown.
func selfPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find prywalk's own file to start the workload: %w", err)
	}
	return path, nil
}
