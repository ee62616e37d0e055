// SPDX-License-Identifier: Apache-2.0

// The compiler accepts functions without a body (fork_unsafe.go) only where a package has assembly.
