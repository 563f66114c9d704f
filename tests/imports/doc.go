// Package imports holds who may import whom, as a test. It contains no code of
// the product.
package imports
