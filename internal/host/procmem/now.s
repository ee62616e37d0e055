/* SPDX-License-Identifier: Apache-2.0 */
// Empty: with a file of assembly in the package the compiler accepts functions without
// a body (now_unsafe.go).
