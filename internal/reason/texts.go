package reason

// Texts are the texts of items, in their order.
func Texts[T any](items []T, text func(T) string) []string {
	var texts []string
	for _, item := range items {
		texts = append(texts, text(item))
	}
	return texts
}
