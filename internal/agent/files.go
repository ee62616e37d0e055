// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"os"
)

func readUpTo(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
