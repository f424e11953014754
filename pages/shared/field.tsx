import type { ComponentChildren } from 'preact'

interface FieldProps {
  readonly id: string
  readonly label: string
  /** What is wrong with it. */
  readonly wrong?: string | undefined
  /** Gets what ties the input to its label and to what is wrong. */
  readonly children: (attributes: {
    readonly id: string
    readonly 'aria-invalid': boolean
    readonly 'aria-describedby': string | undefined
  }) => ComponentChildren
}

/** An input with its label, and what is wrong with it beside it. */
export function Field({ id, label, wrong, children }: FieldProps) {
  const told = `${id}-wrong`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-invalid': wrong !== undefined,
        'aria-describedby': wrong === undefined ? undefined : told,
      })}
      <Wrong id={told} message={wrong} />
    </div>
  )
}

export interface NumberFieldProps extends Omit<FieldProps, 'children'> {
  /** As it was typed. */
  readonly value: string
  readonly onType: (value: string) => void
}

/** A number to type. */
export function NumberField({ value, onType, ...field }: NumberFieldProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          step="any"
          value={value}
          onInput={({ currentTarget }) => onType(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** What is wrong, read out when it appears. */
export function Wrong({ id, message }: { readonly id: string; readonly message: string | undefined }) {
  if (message === undefined) return null
  return (
    <p class="wrong" id={id} role="alert">
      {message}
    </p>
  )
}
