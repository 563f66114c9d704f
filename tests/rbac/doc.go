// Package rbac holds the roles in deploy/rbac against what the code says it needs:
// nothing less, nothing more. It contains no code of the product.
package rbac
